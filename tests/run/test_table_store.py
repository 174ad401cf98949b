from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mltune.errors import UsageError
from mltune.measurement.measurement import Measurement, Phase
from mltune.run.csv_table import write_table
from mltune.run.measurements import Measurements
from mltune.run.table_store import TableStore

Make = Callable[..., Measurement]


@pytest.fixture
def path(tmp_path: Path, make: Make) -> Path:
    path = tmp_path / "table.csv.gz"
    write_table([make(id=9, trial=4), make(id=5), make(id=7, trial=4, phase=Phase.FINAL)], path)
    return path


def test_a_table_answers_as_a_database_does(path: Path, make: Make) -> None:
    first, last, searched = make(id=5), make(id=7, trial=4, phase=Phase.FINAL), make(id=9, trial=4)
    table: Measurements = TableStore(path)

    assert table.measurements() == [first, last, searched]
    assert table.measurements(Phase.FINAL) == [last]
    assert table.salvage() == ([first, last, searched], [])
    assert table.get(7) == last
    assert table.count() == 3


def test_what_it_lacks_is_one_line(path: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty.csv.gz"
    write_table([], empty)
    with pytest.raises(UsageError, match=r"table\.csv\.gz: no measurement 1 \(it has 5 to 9\)"):
        TableStore(path).get(1)
    with pytest.raises(UsageError, match=r"no measurement 1 \(it has none\)"):
        TableStore(empty).get(1)
    assert TableStore(empty).count() == 0
