import pytest

from mltune.counted import counted, none_of


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 sizes"), (1, "1 size"), (2, "2 sizes"), (1500, "1,500 sizes")]
)
def test_one_thing_has_no_s(number: int, text: str) -> None:
    assert counted(number, "size") == text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1, "the only config was not right"),
        (0, "none of 0 configs was right"),
        (1234, "none of 1,234 configs was right"),
    ],
)
def test_the_failure_of_all_reads_well_for_one(number: int, text: str) -> None:
    assert none_of(number, "config", "was", "right") == text
