import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from mltune.errors import MltuneError, UsageError
from mltune.measurement import Measurement
from mltune.run.carve import carve
from mltune.run.store import Store

Make = Callable[..., Measurement]


def filled(path: Path, make: Make, count: int = 40) -> list[Measurement]:
    with Store(f"sqlite:///{path}") as store:
        return [store.add(make(trial=trial, message="m" * trial * 300)) for trial in range(count)]


def test_a_sound_file_is_carved_whole_rows_of_several_pages_included(
    tmp_path: Path, make: Make
) -> None:
    added = filled(tmp_path / "run.db", make)

    carved = carve(tmp_path / "run.db")

    assert list(carved.measurements) == added
    assert carved.damaged == ()
    assert carved.missing == ()


def test_a_row_that_is_only_in_the_log_is_found(tmp_path: Path, make: Make) -> None:
    path = tmp_path / "run.db"
    filled(path, make, 3)
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("PRAGMA wal_autocheckpoint=0")
        writer.execute(
            "INSERT INTO mltune_measurements SELECT 4, run, "
            + ", ".join(
                row[1]
                for row in writer.execute("PRAGMA table_info(mltune_measurements)")
                if row[1] not in ("id", "run")
            )
            + " FROM mltune_measurements WHERE id = 3"
        )
        writer.commit()

        assert [one.id for one in carve(path).measurements] == [1, 2, 3, 4]


def test_only_the_rows_of_a_damaged_page_are_lost(tmp_path: Path, make: Make) -> None:
    path = tmp_path / "run.db"
    added = filled(path, make, 12)
    data = bytearray(path.read_bytes())
    leaves = (at for at in range(4096, len(data), 4096) if data[at] == 13)
    page = next(at for at in leaves if b"Cij_" in data[at : at + 4096])
    data[page : page + 4096] = bytes(4096)
    path.write_bytes(data)

    carved = carve(path)

    assert 0 < len(carved.measurements) < len(added)
    assert set(carved.measurements) < set(added)
    assert len(carved.missing) == len(added) - len(carved.measurements)
    with Store(f"sqlite:///{path}", read_only=True) as store, pytest.raises(MltuneError):
        store.measurements()


def test_a_flipped_bit_in_a_cell_is_told(tmp_path: Path, make: Make) -> None:
    path = tmp_path / "run.db"
    filled(path, make, 3)
    data = path.read_bytes()
    assert data.count(b"0.3333333333333333") == 3
    path.write_bytes(data.replace(b"0.3333333333333333", b"0.3333333323333333", 1))

    carved = carve(path)

    assert len(carved.measurements) == 2
    assert len(carved.damaged) == 1
    assert "is damaged" in carved.damaged[0]
    with (
        Store(f"sqlite:///{path}", read_only=True) as store,
        pytest.raises(UsageError, match=r"row \d: its cells do not give its checksum"),
    ):
        store.measurements()


@pytest.mark.parametrize("content", [b"", b"x", b"SQLite format 3\0", bytes(9000), b"\r" * 9000])
def test_nothing_is_found_in_nonsense(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "run.db"
    path.write_bytes(content)

    assert carve(path).measurements == ()


def test_a_row_that_went_missing_is_noticed(tmp_path: Path, make: Make) -> None:
    path = tmp_path / "run.db"
    filled(path, make, 5)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM mltune_measurements WHERE id = 3")

    with (
        Store(f"sqlite:///{path}", read_only=True) as store,
        pytest.raises(MltuneError, match=r"is damaged; .* \(4 rows, numbered 1 to 5\)"),
    ):
        store.measurements()
    assert carve(path).missing == (3,)


def test_a_row_that_lost_its_checksum_is_not_believed(tmp_path: Path, make: Make) -> None:
    path = tmp_path / "run.db"
    filled(path, make, 3)
    with closing(sqlite3.connect(path)) as writer, writer:
        writer.execute("UPDATE mltune_measurements SET checksum = '' WHERE id = 2")

    carved = carve(path)

    assert [one.id for one in carved.measurements] == [1, 3]
    assert carved.damaged == ("row 2: its checksum is missing",)
