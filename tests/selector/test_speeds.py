from pathlib import Path

import pytest

from mltune.errors import UsageError
from mltune.selector.speeds import SPEEDS_NAME, Speed, read_speeds, write_speeds

SPEEDS = (Speed((8, 9, 10, 1), 1.5e-4), Speed((64, 64, 64, 3), 0.25))


def test_what_is_written_is_read(tmp_path: Path) -> None:
    write_speeds(SPEEDS, tmp_path)

    assert read_speeds(tmp_path) == SPEEDS
    assert [each.label for each in SPEEDS] == ["8x9x10", "64x64x64x3"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"mltune speeds"', '"x"', "speeds.json: format: expected 'mltune speeds', got 'x'"),
        ("0.25", "-1", r"speeds.json: speeds.1.seconds: expected a number from 1e-09 to 10000"),
        ("64,", "0,", "speeds.1.size.0: expected a whole number from 1 to 2147483647, got 0"),
        ("}", "", "speeds.json: "),
    ],
)
def test_a_wrong_file_is_refused(old: str, new: str, message: str, tmp_path: Path) -> None:
    write_speeds(SPEEDS, tmp_path)
    file = tmp_path / SPEEDS_NAME
    file.write_text(file.read_text().replace(old, new, 1))

    with pytest.raises(UsageError, match=message):
        read_speeds(tmp_path)
