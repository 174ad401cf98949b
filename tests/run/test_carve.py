import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from mltune.errors import MltuneError, UsageError
from mltune.measurement import Measurement
from mltune.run.carve import _confirmed, carve
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


def test_whole_numbers_of_any_length_are_read(tmp_path: Path, make: Make) -> None:
    path = tmp_path / "run.db"
    with Store(f"sqlite:///{path}") as store:
        added = [
            store.add(make(trial=sign * (1 << bits), compile_seconds=float(1 << bits)))
            for bits in (0, 6, 7, 14, 15, 22, 23, 30, 31, 46, 47, 62)
            for sign in (1, -1)
        ]

    assert list(carve(path).measurements) == added


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


@pytest.mark.parametrize("length", [0, 2500])
def test_no_row_is_lost_with_the_page_above_all_others(
    tmp_path: Path, make: Make, length: int
) -> None:
    path = tmp_path / "run.db"
    with Store(f"sqlite:///{path}") as store:
        added = [store.add(make(trial=trial, message="m" * length)) for trial in range(32)]
    data = bytearray(path.read_bytes())
    (above,) = (at for at in range(4096, len(data), 4096) if data[at] == 5)
    data[above : above + 4096] = bytes(4096)
    path.write_bytes(data)

    carved = carve(path)

    assert list(carved.measurements) == added
    assert (carved.damaged, carved.missing) == ((), ())


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


def places_of_numbers(data: bytes | bytearray) -> dict[int, int]:
    """Where the row numbers are in a file with fewer than 128 rows of 128 to 16383 bytes."""
    places = {}
    for page in range(4096, len(data), 4096):
        if data[page] == 13 and b"Cij_" in data[page : page + 4096]:
            for pointer in range(page + 8, page + 8 + 2 * data[page + 4], 2):
                place = page + int.from_bytes(data[pointer : pointer + 2], "big") + 2
                places[data[place]] = place
    return places


@pytest.mark.parametrize("bit", [1, 4, 0x40])
@pytest.mark.parametrize("length", [0, 2500])
def test_a_flipped_bit_in_a_rows_number_is_put_right_and_in_the_last_rows_told(
    tmp_path: Path, make: Make, length: int, bit: int
) -> None:
    path = tmp_path / "run.db"
    with Store(f"sqlite:///{path}") as store:
        added = [store.add(make(trial=trial, message="m" * length)) for trial in range(32)]
    data = path.read_bytes()
    places = places_of_numbers(data)
    assert sorted(places) == list(range(1, 33))
    for number in range(1, 33):
        wrong = bytearray(data)
        wrong[places[number]] ^= bit
        path.write_bytes(wrong)

        carved = carve(path)

        is_last = number == 32
        told = (f"row {number ^ bit}: its number is damaged",)
        assert list(carved.measurements) == (added[:-1] if is_last else added)
        assert carved.damaged == (told if is_last else ())
        assert carved.missing == ()


def test_a_row_whose_number_nothing_tells_is_damaged_and_no_others_are_missing(
    tmp_path: Path, make: Make
) -> None:
    path = tmp_path / "run.db"
    added = filled(path, make, 3)
    data = bytearray(path.read_bytes())
    data[places_of_numbers(data)[3]] ^= 0x40
    path.write_bytes(data)

    carved = carve(path)

    assert list(carved.measurements) == added[:2]
    assert carved.damaged == ("row 67: its number is damaged",)
    assert carved.missing == ()


def test_a_wrong_number_does_not_hide_the_row_that_has_it(tmp_path: Path, make: Make) -> None:
    path = tmp_path / "run.db"
    added = filled(path, make, 3)
    data = bytearray(path.read_bytes())
    data[places_of_numbers(data)[3]] = 2
    path.write_bytes(data)

    carved = carve(path)

    assert list(carved.measurements) == added[:2]
    assert carved.damaged == ("row 2: its number is damaged",)


def test_every_damaged_row_without_a_known_number_is_told(tmp_path: Path, make: Make) -> None:
    path = tmp_path / "run.db"
    added = filled(path, make, 3)
    data = bytearray(path.read_bytes())
    places = places_of_numbers(data)
    for number, bit in ((2, 0x40), (3, 0x10)):
        data[places[number]] ^= bit
        at = data.index(b"0.3333333333333333", places[number])
        data[at + 9] ^= 1
    path.write_bytes(data)

    carved = carve(path)

    assert list(carved.measurements) == added[:1]
    assert [each.partition(":")[0] for each in carved.damaged] == ["row 66", "row 19"]
    assert carved.missing == ()


@pytest.mark.parametrize("length", [0, 2500])
def test_rows_of_a_misplaced_page_keep_their_numbers_and_a_copys_are_not_doubled(
    tmp_path: Path, make: Make, length: int
) -> None:
    path = tmp_path / "run.db"
    with Store(f"sqlite:///{path}") as store:
        added = [store.add(make(trial=trial, message="m" * length)) for trial in range(32)]
    data = path.read_bytes()
    places = places_of_numbers(data)
    first, second = (slice(at, at + 4096) for at in (places[n] // 4096 * 4096 for n in (3, 20)))
    lost = {n for n, at in places.items() if first.start <= at < first.stop}
    copied, swapped = bytearray(data), bytearray(data)
    copied[first] = data[second]
    swapped[first], swapped[second] = data[second], data[first]

    path.write_bytes(copied)
    assert list(carve(path).measurements) == [one for one in added if one.id not in lost]
    path.write_bytes(swapped)
    assert list(carve(path).measurements) == added


def test_of_numbers_that_contradict_each_other_those_of_most_rows_count() -> None:
    written = {0: 100, 1: 2, 2: 3, 3: 4, 4: 104, 5: 77}

    assert _confirmed(written) == {0: 100, 1: 2, 2: 3, 3: 4, 4: 104}
