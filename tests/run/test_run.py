from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import mltune.run.store
from mltune.errors import MltuneError, UsageError
from mltune.measurement import Measurement, Phase
from mltune.run.row import from_row
from mltune.run.run import Run, read_info
from mltune.run.run_info import RunInfo
from mltune.run.store import Store

Make = Callable[..., Measurement]


def refusal(function: Callable[[], object]) -> str:
    with pytest.raises(UsageError) as refused:
        function()
    assert "\n" not in str(refused.value)
    return str(refused.value)


@pytest.fixture
def folder(tmp_path: Path, info: RunInfo, make: Make) -> Path:
    """A closed run of two measurements."""
    with Run.create(tmp_path / "run", info) as run:
        run.database.add(make())
        run.database.add(make(phase=Phase.FINAL))
    return tmp_path / "run"


def test_a_run_can_be_resumed_and_read(folder: Path, info: RunInfo, make: Make) -> None:
    with Run.resume(folder) as run:
        assert run.info == info
        assert run.folder == folder
        assert run.store.count() == 2
        run.database.add(make(trial=9))
    with Run.open(folder) as run:
        assert run.info == info
        assert [measurement.trial for measurement in run.store.measurements()] == [3, 3, 9]
        with pytest.raises(UsageError, match="opened for reading only"):
            run.database.add(make())


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of the rows that stores have read, in order."""
    numbers: list[int] = []

    def noted(row: Mapping[str, Any]) -> Measurement:
        numbers.append(row["id"])
        return from_row(row)

    monkeypatch.setattr(mltune.run.store, "from_row", noted)
    return numbers


def test_a_resumed_run_reads_each_row_once(folder: Path, make: Make, read: list[int]) -> None:
    with Run.resume(folder) as run:
        before = run.store.measurements()
        added = run.database.add(make(trial=9))

        assert run.store.measurements() == [*before, added] == run.store.measurements()
        assert run.store.measurements(Phase.FINAL) == [before[1]]
    assert read == [1, 2, 3]


def test_threads_that_read_at_the_same_time_get_each_row_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once = threading.Barrier(2, timeout=30)

    def waits(row: Mapping[str, Any]) -> Measurement:
        if row["id"] == 1:
            at_once.wait()
        return from_row(row)

    monkeypatch.setattr(mltune.run.store, "from_row", waits)
    with Run.open(folder) as run, ThreadPoolExecutor(2) as threads:
        first, second = threads.map(lambda _: run.store.measurements(), range(2))

        assert [row.id for row in first] == [1, 2]
        assert first == second == run.store.measurements()


def test_priors_that_moved_with_the_folder_are_found(
    tmp_path: Path, info: RunInfo, make: Make
) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    priors = ("shipped:one", str(before / "sgemm_nt"), str(tmp_path / "gone"))
    for name in ("sgemm_nn", "sgemm_nt"):
        with Run.create(before / name, replace(info, priors=priors)) as run:
            run.database.add(make())
    before.rename(after)

    with Run.resume(after / "sgemm_nn") as run:
        assert run.info.priors == ("shipped:one", str(after / "sgemm_nt"), str(tmp_path / "gone"))


def test_a_folder_with_a_run_is_not_used_again(folder: Path, info: RunInfo) -> None:
    assert refusal(lambda: Run.create(folder, info)) == (
        f"{folder}: holds a run already; continue with --resume, or give another --run"
    )
    assert Run.open(folder).store.count() == 2


@pytest.mark.parametrize("name", ["run.db", "measurements.csv.gz"])
def test_measurements_without_their_info_are_not_mixed_with_new_ones(
    folder: Path, info: RunInfo, name: str
) -> None:
    (folder / "run.json").unlink()
    (folder / "run.db").rename(folder / name)

    assert refusal(lambda: Run.create(folder, info)) == (
        f"{folder}: holds measurements but no run.json; give another --run"
    )
    Run.create(folder.with_name("other"), info).close()


def test_a_run_killed_before_it_began_can_be_made_again(folder: Path, info: RunInfo) -> None:
    with Run.create(folder.with_name("killed"), info):
        pass
    (folder.with_name("killed") / "run.json").unlink()

    with Run.create(folder.with_name("killed"), info) as run:
        assert run.store.count() == 0


def test_other_files_in_the_folder_do_not_matter(tmp_path: Path, info: RunInfo) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with Run.create(tmp_path, info):
        assert (tmp_path / "notes.txt").read_text() == "mine"


def test_two_searches_do_not_run_in_one_folder(tmp_path: Path, info: RunInfo) -> None:
    with Run.create(tmp_path, info):
        assert "in use by process" in refusal(lambda: Run.resume(tmp_path))
        Run.open(tmp_path).close()
    Run.resume(tmp_path).close()


def test_a_failed_resume_lets_go_of_the_folder(folder: Path) -> None:
    database = folder / "run.db"
    database.rename(folder / "aside.db")
    message = f"{folder}: has no run.db, so it cannot be resumed"
    assert refusal(lambda: Run.resume(folder)) == message
    (folder / "aside.db").rename(database)

    Run.resume(folder).close()


def test_a_failed_start_leaves_no_run_behind(tmp_path: Path, info: RunInfo) -> None:
    (tmp_path / "run.db").write_text("my notes, not a database")

    assert refusal(lambda: Run.create(tmp_path, info)).endswith("nothing was written to it")
    assert not (tmp_path / "run.json").exists()
    (tmp_path / "run.db").unlink()
    Run.create(tmp_path, info).close()


def test_a_storage_url_takes_the_place_of_the_file(
    tmp_path: Path, info: RunInfo, make: Make
) -> None:
    storage = f"sqlite:///{tmp_path}/shared.db"
    with Store(storage, run="another") as other:
        other.add(make())
    with Run.create(tmp_path / "run", info, storage) as run:
        run.database.add(make(trial=8))
        assert run.info.storage == storage
    assert not (tmp_path / "run" / "run.db").exists()

    for again in (Run.open(tmp_path / "run"), Run.resume(tmp_path / "run", storage)):
        with again as run:
            assert [measurement.trial for measurement in run.store.measurements()] == [8]


def test_a_run_whose_shared_database_was_made_anew_is_begun_anew(
    info: RunInfo, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path}/all.db"
    Run.create(tmp_path / "one", info, url).close()
    (tmp_path / "all.db").unlink()
    Run.create(tmp_path / "two", replace(info, id="two"), url).close()

    with pytest.raises(UsageError, match=r"one: is no run of .*all\.db \(made anew since"):
        Run.resume(tmp_path / "one")

    still_open = [link.resolve() for link in Path("/proc/self/fd").iterdir()]
    assert tmp_path / "all.db" not in still_open


def test_the_database_of_another_runs_folder_is_not_shared(
    folder: Path, tmp_path: Path, info: RunInfo
) -> None:
    storage = f"sqlite:///{folder / 'run.db'}"

    message = refusal(lambda: Run.create(tmp_path / "b", info, storage))

    assert message == (
        f"--storage: {folder / 'run.db'} belongs to the run {folder} alone; give another database"
    )
    shared = f"sqlite:///{tmp_path / 'c' / 'run.db'}"
    Run.create(tmp_path / "c", info, shared).close()
    Run.create(tmp_path / "b", info, shared).close()


def test_a_refused_storage_leaves_no_new_folder(tmp_path: Path, info: RunInfo) -> None:
    storage = f"sqlite:///{tmp_path / 'nowhere' / 'shared.db'}"
    old = tmp_path / "old"
    old.mkdir()

    for folder in (tmp_path / "new", old):
        with pytest.raises(UsageError, match="there is no folder"):
            Run.create(folder, info, storage)

    assert [*tmp_path.iterdir()] == [old]


def test_a_storage_that_has_gone_is_not_made_anew(tmp_path: Path, info: RunInfo) -> None:
    Run.create(tmp_path / "run", info, f"sqlite:///{tmp_path}/shared.db").close()
    (tmp_path / "shared.db").unlink()

    message = refusal(lambda: Run.resume(tmp_path / "run"))
    assert message == f"{tmp_path}/shared.db: no such file"
    assert not (tmp_path / "shared.db").exists()


def test_another_storage_than_the_runs_is_refused(folder: Path, info: RunInfo) -> None:
    message = refusal(lambda: Run.resume(folder, "sqlite:///x.db"))

    assert message == f"{folder}: keeps its measurements in run.db, not elsewhere"


def test_another_server_than_the_runs_is_refused_without_its_password(
    tmp_path: Path, info: RunInfo
) -> None:
    stored = "postgresql://me:***@host/runs"
    data = info.to_json() | {"storage": stored}
    (tmp_path / "run.json").write_text(json.dumps(data))

    message = f"{tmp_path}: keeps its measurements in {stored}, got postgresql://me:***@else/runs"
    assert refusal(lambda: Run.open(tmp_path, "postgresql://me:secret@else/runs")) == message


def test_a_read_only_folder_can_be_opened(
    open_folder: Path,
    info: RunInfo,
    read_only: Callable[[Path], AbstractContextManager[None]],
) -> None:
    Run.create(open_folder / "run", info).close()
    folder = open_folder / "run"

    with read_only(folder):
        Run.open(folder).close()
        assert refusal(lambda: Run.resume(folder)) == (
            f"{folder}/run.lock: cannot write (Permission denied)"
        )


def test_what_is_no_run_folder_is_one_exact_line(tmp_path: Path, folder: Path) -> None:
    assert refusal(lambda: Run.open(tmp_path / "no")) == f"{tmp_path}/no: no such run folder"
    assert refusal(lambda: Run.open(tmp_path)) == (
        f"{tmp_path}: is no run folder (it has no run.json, which `mltune search` writes)"
    )
    assert refusal(lambda: Run.open(folder / "run.db")) == (
        f"{folder}/run.db: is a file; a run is named by its folder"
    )
    (folder / "run.db").unlink()
    assert refusal(lambda: Run.open(folder)) == (
        f"{folder}: has neither run.db nor measurements.csv.gz"
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "line 1: not JSON: Expecting value"),
        (b'{\n"schema": 1,\n', "line 3: not JSON: Expecting property name enclosed in"),
        (b"[]", "expected a mapping, got list"),
        (b'{"schema": 99}', "its schema 99 is newer than 1"),
        (b"\xff", "not JSON: 'utf-8' codec can't decode byte 0xff"),
        (b"[" * 100_000, "not JSON: nested too deeply"),
        (b'{"schema": ' + b"9" * 5000 + b"}", "not JSON: Exceeds the limit"),
    ],
)
def test_a_damaged_info_names_the_file(folder: Path, content: bytes, message: str) -> None:
    (folder / "run.json").write_bytes(content)

    assert refusal(lambda: read_info(folder)).startswith(f"{folder}/run.json: {message}")


def test_the_package_loads_no_database_library() -> None:
    code = "import sys, mltune.measurement; sys.exit('sqlalchemy' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_flipped_bit_in_the_info_is_noticed(folder: Path) -> None:
    path = folder / "run.json"
    path.write_text(path.read_text().replace('"seed": 1', '"seed": 3'))

    assert refusal(lambda: Run.open(folder)).startswith(
        f"{path}: its content does not give its checksum"
    )


def test_an_info_changed_by_hand_is_read_without_its_checksum(folder: Path, info: RunInfo) -> None:
    path = folder / "run.json"
    content = json.loads(path.read_text())
    del content["checksum"]
    path.write_text(json.dumps(content | {"budget": info.budget + 1}))

    assert read_info(folder).budget == info.budget + 1


def test_resuming_leaves_a_damaged_database_as_it_is(folder: Path) -> None:
    path = folder / "run.db"
    data = path.read_bytes().replace(b"depth_u", b"depth_w")
    path.write_bytes(data)

    with pytest.raises(MltuneError, match=r"run\.db"):
        Run.resume(folder)

    assert path.read_bytes() == data
