import pytest

from mltune.counted import counted


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 sizes"), (1, "1 size"), (2, "2 sizes"), (1500, "1,500 sizes")]
)
def test_one_thing_has_no_s(number: int, text: str) -> None:
    assert counted(number, "size") == text
