from __future__ import annotations

import gzip
import math
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from mltune.errors import UsageError
from mltune.measurement import Measurement, Status
from mltune.run.csv import export_csv, read_measurements
from mltune.run.csv_table import read_table, write_table
from mltune.run.run import Run
from mltune.run.run_info import RunInfo

Make = Callable[..., Measurement]


def measurements_of(make: Make) -> list[Measurement]:
    awkward = 'a "quoted", line\rbreaks\r\nand\nmore é'
    return [
        make(id=2, seconds=(0.1 + 0.2, 1e-12, 1e9)),
        make(id=5, status=Status.BUILD_ERROR, message=awkward, compile_seconds=None),
        make(id=7, status=Status.WRONG_RESULT, max_error=math.inf, build_options=()),
        *(make(id=10 + number, status=status) for number, status in enumerate(Status)),
    ]


def test_a_table_reads_back_exactly(tmp_path: Path, make: Make) -> None:
    path = tmp_path / "measurements.csv.gz"
    measurements = measurements_of(make)
    write_table(measurements, path)

    assert read_table(path) == measurements
    write_table([], path)
    assert read_table(path) == []


def test_the_longest_message_reads_back(tmp_path: Path, make: Make) -> None:
    path = tmp_path / "measurements.csv.gz"
    write_table([make(id=1, status=Status.BUILD_ERROR, message='"' * 10**6)], path)

    assert len(read_table(path)[0].message) == 100_000


def test_the_same_measurements_give_the_same_bytes(
    tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, seconds in (("a", 1e9), ("b", 2e9)):
        monkeypatch.setattr("time.time", lambda seconds=seconds: seconds)
        write_table(measurements_of(make), tmp_path / name)

    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_an_exported_run_is_read_as_a_run(tmp_path: Path, info: RunInfo, make: Make) -> None:
    with Run.create(tmp_path / "run", info) as run:
        added = [run.database.add(one) for one in measurements_of(make)]
        paths = export_csv(run, tmp_path / "shipped")

    assert [path.name for path in paths] == ["measurements.csv.gz", "run.json"]
    assert sorted(path.name for path in (tmp_path / "shipped").iterdir()) == sorted(
        path.name for path in paths
    )
    assert read_measurements(tmp_path / "shipped") == added
    assert read_measurements(tmp_path / "run") == added
    with Run.open(tmp_path / "shipped") as run:
        assert run.info == info
        assert run.store.get(added[3].id) == added[3]
        table = tmp_path / "shipped" / "measurements.csv.gz"
        with pytest.raises(UsageError, match=f"^{table}: opened for reading only$"):
            _ = run.database


def test_an_exported_run_can_be_gone_on_with(tmp_path: Path, info: RunInfo, make: Make) -> None:
    with Run.create(tmp_path / "run", info) as run:
        added = [run.database.add(one) for one in measurements_of(make)]
        export_csv(run, tmp_path / "shipped")

    with Run.resume(tmp_path / "shipped") as run:
        assert run.store.measurements() == added
        added.append(run.database.add(make()))

    assert read_measurements(tmp_path / "shipped") == added
    assert not (tmp_path / "shipped" / "run.db.part").exists()


def test_a_run_may_be_exported_into_its_own_folder(
    tmp_path: Path, info: RunInfo, make: Make
) -> None:
    with Run.create(tmp_path, info) as run:
        added = run.database.add(make())
        export_csv(run, tmp_path)
        run.database.add(make())
    assert len(read_measurements(tmp_path)) == 2

    (tmp_path / "run.db").unlink()
    assert read_measurements(tmp_path) == [added]


def test_the_log_of_a_database_that_was_removed_adds_nothing(
    tmp_path: Path, info: RunInfo, make: Make
) -> None:
    log = tmp_path / "run.db-wal"
    with Run.create(tmp_path, info) as run:
        added = run.database.add(make())
        export_csv(run, tmp_path)
        run.database.add(make(trial=9))
        left = log.read_bytes()
    log.write_bytes(left)  # as a killed process leaves it
    (tmp_path / "run.db").unlink()

    with Run.resume(tmp_path) as run:
        assert run.store.measurements() == [added]


def test_an_exported_run_stands_without_its_storage(
    tmp_path: Path, info: RunInfo, make: Make
) -> None:
    with Run.create(tmp_path / "run", info, f"sqlite:///{tmp_path}/shared.db") as run:
        added = run.database.add(make())
        export_csv(run, tmp_path / "shipped")

    (tmp_path / "shared.db").unlink()
    assert read_measurements(tmp_path / "shipped") == [added]


def test_another_runs_folder_is_not_overwritten(tmp_path: Path, info: RunInfo) -> None:
    Run.create(tmp_path / "a", info).close()
    with (
        Run.create(tmp_path / "b", replace(info, id="b")) as run,
        pytest.raises(UsageError, match="a: holds another run; give another folder"),
    ):
        export_csv(run, tmp_path / "a")
    assert not (tmp_path / "a" / "measurements.csv.gz").exists()


def edited(path: Path, make: Make, change: Callable[[str], str]) -> Path:
    write_table([make(id=1), make(id=2)], path)
    text = gzip.decompress(path.read_bytes()).decode()
    path.write_bytes(gzip.compress(change(text).encode()))
    return path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda _: "", "column 'id' is missing: no table of measurements"),
        (lambda _: "m,n,k\n", "line 1: column 'id' is missing: no table of measurements"),
        (lambda text: text.replace('"id",', '"id","x",'), "line 1: expected the columns id,phase"),
        (lambda text: text.rpartition(",")[0] + "\n", "line 3: expected 28 cells, got 27"),
        (lambda text: text.replace("\n2,", "\n1,"), "line 3: id 1 stands twice"),
        (lambda text: text.replace("\n2,", "\ntwo,"), "line 3: column 'id' must be a whole number,"
         " got 'two'"),
        (lambda text: text.replace("0.25", "a while"), "line 2: column 'compile_seconds' must be "
         "a number, got 'a while'"),
        (lambda text: text.replace('"ok"', '"fine"'), "line 2: unknown status 'fine'"),
        (lambda text: text.replace('"ok"', "\0"), "line 2: unknown status"),
        (lambda text: text + "x" * 200_000, "line 4: field larger than field limit (131072)"),
    ],
)  # fmt: skip
def test_a_damaged_table_names_the_line(
    tmp_path: Path, make: Make, change: Callable[[str], str], message: str
) -> None:
    path = edited(tmp_path / "measurements.csv.gz", make, change)
    with pytest.raises(UsageError) as refused:
        read_table(path)

    assert str(refused.value).startswith(f"{path}: {message}")
    assert "\n" not in str(refused.value)


def test_a_file_that_is_not_gzipped_or_cut_short_is_named(tmp_path: Path, make: Make) -> None:
    path = tmp_path / "measurements.csv.gz"
    path.write_text("id,phase\n")
    with pytest.raises(UsageError, match=r"gz: is not gzipped"):
        read_table(path)

    write_table([make(id=1)], path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-12])
    with pytest.raises(UsageError, match="gz: is damaged or cut short"):
        read_table(path)
    path.write_bytes(whole[:20] + b"\xff" * 20 + whole[40:])
    with pytest.raises(UsageError, match="gz: "):
        read_table(path)
    path.unlink()
    with pytest.raises(UsageError, match=r"gz: cannot read \(No such file or directory\)"):
        read_table(path)


def test_a_table_from_before_observers_is_read(tmp_path: Path, make: Make) -> None:
    path = edited(
        tmp_path / "measurements.csv.gz",
        make,
        lambda text: re.sub(r',"observed","checksum"|,"{}","[0-9a-f]{8}"', "", text),
    )

    assert read_table(path) == [make(id=1), make(id=2)]


def test_what_was_observed_is_kept(tmp_path: Path, make: Make) -> None:
    seen = make(id=1, observed=(("anchor_seconds", 1e-5), ("clock_mhz", 1980.0)))
    write_table([seen], tmp_path / "measurements.csv.gz")

    (read,) = read_table(tmp_path / "measurements.csv.gz")

    assert read == seen
    assert read.seen("clock_mhz") == 1980
    assert read.seen("energy_joules") is None
