"""Several processes on one search, through the command line, on two devices of PoCL."""

from __future__ import annotations

import signal
import time
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool

from mltune.errors import MltuneError, NoDeviceError, UsageError
from mltune.run.run import INFO_NAME, Run, read_info
from mltune.run.shared_trials import Counts
from mltune.tuning.search_options import UNLIMITED_BUDGET
from mltune.workflow.worker import WorkerResult
from tests import postgres
from tests.patience import PATIENCE_SECONDS

if TYPE_CHECKING:
    from tests.cli.conftest import Command, Start

TWO_DEVICES = {"POCL_DEVICES": "pthread pthread"}


def ask(url: str, statement: str) -> list[tuple[object, ...]]:
    engine = create_engine(url, poolclass=NullPool)
    with engine.connect() as connection:
        return [tuple(row) for row in connection.execute(text(statement))]


@pytest.fixture
def shared_search(quick_search: tuple[str, ...]) -> tuple[str, ...]:
    """A search of six configs on one size; it lacks `--run`, `--storage` and `--device`."""
    at = quick_search.index("--device")
    rest = (*quick_search[:at], *quick_search[at + 2 :])
    return (*rest, "--sizes", "16x16x16", "--budget", "6")


@pytest.fixture
def devices(mltune_process: Command) -> list[str]:
    """The numbers of two devices of PoCL."""
    found = mltune_process("devices", "--json", environment=TWO_DEVICES).json["devices"]
    return [d["spec"] for d in found if d["platform"] == "Portable Computing Language"]


def test_a_search_and_a_worker_share_the_trials(
    start: Start,
    mltune: Command,
    mltune_process: Command,
    shared_search: tuple[str, ...],
    devices: list[str],
    postgres_url: str,
    tmp_path: Path,
) -> None:
    run, elsewhere = tmp_path / "run", tmp_path / "elsewhere"
    begun = start(
        *(*shared_search, "--run", run, "--storage", postgres_url, "--device", devices[0]),
        *("--json", "--quiet"),
        environment=TWO_DEVICES,
    )
    wait_for(run / INFO_NAME)
    worker = mltune_process(
        *("worker", "--device", devices[1], "--run", elsewhere, "--json", "--quiet"),
        environment=TWO_DEVICES | {"MLTUNE_STORAGE": postgres_url},
    )
    out, err = begun.communicate(timeout=PATIENCE_SECONDS)

    assert (begun.returncode, worker.code) == (0, 0), err + worker.err
    assert worker.json["finished"] == worker.json["budget"] == 6
    assert worker.json["concluded"]
    numbers = ask(postgres_url, "SELECT trial, m, n, k FROM mltune_measurements "
                                "WHERE phase = 'search' ORDER BY trial")  # fmt: skip
    assert len(numbers) == len(set(numbers)) == 6
    assert ask(postgres_url, "SELECT * FROM mltune_leases") == []
    assert ask(postgres_url, "SELECT count(*) FROM trials") == [(6,)]  # Optuna's
    with Run.open(run, postgres_url) as one, Run.open(elsewhere, postgres_url) as other:
        assert one.store.measurements() == other.store.measurements()
        assert postgres.PASSWORD not in (run / INFO_NAME).read_text()
    assert '"trials": 6' in out


def test_all_devices_work_at_once_and_an_interrupted_search_goes_on(
    start: Start, shared_search: tuple[str, ...], tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path}/all.db"
    run = tmp_path / "run"
    common = ("--run", run, "--storage", url, "--device", "all", "--quiet", "--json")
    first = start(*shared_search, *common, environment=TWO_DEVICES)
    wait_for(run / INFO_NAME)
    while not ask(url, "SELECT 1 FROM mltune_trials WHERE finished > 0"):
        time.sleep(0.05)
    first.send_signal(signal.SIGTERM)
    first.wait(PATIENCE_SECONDS)
    leases = ask(url, "SELECT * FROM mltune_leases")
    _, err = first.communicate()
    assert first.returncode == 130, err
    assert leases == []  # of workers, too
    assert f"resume with: mltune search --resume --run {run} --device all --storage {url}" in err

    again = start("search", "--resume", *common, environment=TWO_DEVICES)
    out, err = again.communicate(timeout=PATIENCE_SECONDS)

    assert again.returncode == 0, err
    assert '"trials": 6' in out
    assert ask(url, "SELECT count(DISTINCT config) FROM mltune_measurements") == [(6,)]


def test_a_search_whose_workers_were_killed_ends_with_its_table(
    mltune: Command,
    shared_search: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def failed(*_: object) -> None:
        raise MltuneError("1 of 1 workers failed (exit code -9)")

    monkeypatch.setattr("mltune.tuning.local_workers.LocalWorkers.wait", failed)
    shared = ("--device", "all", "--storage", f"sqlite:///{tmp_path}/all.db")

    done = mltune(*shared_search, *shared, "--run", tmp_path / "run")

    assert done.code == 0, done.err
    assert "\n1 of 1 workers failed (exit code -9)\n" in done.err
    assert "\nms: kernel time by device events" in done.out


def test_all_devices_need_a_database(mltune: Command, shared_search: tuple[str, ...]) -> None:
    outcome = mltune(*shared_search, "--device", "all")

    assert (outcome.code, outcome.err) == (
        2,
        "mltune: --device all: the workers share a database: give --storage, such as "
        "sqlite:///all.db\n",
    )


def test_workers_of_all_devices_wait_for_the_study(
    mltune: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = iter([UsageError("no study yet"), MltuneError("its server is starting up")])

    def study(*_: object) -> SimpleNamespace:
        for error in answers:
            raise error
        return SimpleNamespace(id="one", sampler="tpe")

    def devices() -> None:
        raise NoDeviceError("the study was found")

    monkeypatch.setattr("mltune.workflow.worker.read_study", study)
    monkeypatch.setattr("mltune.workflow.worker.all_devices", devices)
    monkeypatch.setattr("mltune.workflow.worker.Store", lambda *_, **__: nullcontext())
    asked = ("worker", "--device", "all", "--storage", f"sqlite:///{tmp_path}/all.db")

    done = mltune(*asked, "--wait", 60)
    folder = mltune(*asked, "--run", tmp_path / "run")

    assert (done.code, done.err) == (4, "mltune: the study was found\n")
    assert (folder.code, folder.err) == (
        2,
        "mltune: --run: cannot go with --device all, whose devices may need several runs\n",
    )


def test_a_device_that_one_of_all_workers_lost_is_told(
    mltune: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = {"device": "one", "trials": 3, "seconds": 2.0, "stopped": "", "exit_code": 0}
    lost = ended | {"device": "two", "stopped": "the device is gone", "exit_code": 4}
    monkeypatch.setattr("mltune.workflow.worker.work_on_all", lambda *_: [ended, lost])

    done = mltune("worker", "--device", "all", "--storage", "sqlite:///all.db")

    assert (done.code, done.out) == (
        4,
        "one: 3 trials, 2 s\ntwo: 3 trials, 2 s; the device is gone\n",
    )


@pytest.mark.parametrize(("budget", "words"), [(UNLIMITED_BUDGET, "15"), (60, "15 of 60")])
def test_a_worker_says_how_many_trials_there_are_unless_time_ends_them(
    mltune: Command,
    finished_run: Path,
    monkeypatch: pytest.MonkeyPatch,
    budget: int,
    words: str,
) -> None:
    info = read_info(finished_run)
    counts = Counts(budget=budget, claimed=16, finished=15, concluded=False)
    left = WorkerResult(
        study="s", info=info, trials=6, counts=counts, seconds=9, interrupted=True, stopped=""
    )
    monkeypatch.setattr("mltune.workflow.worker.work", lambda *_: left)

    done = mltune("worker", "--storage", "sqlite:///all.db")

    assert done.out == (
        f"study s, sgemm_nn on {info.device.name}: 6 trials here, {words} in all, 9 s; "
        "interrupted\n"
    )


def test_a_worker_without_a_study_is_one_line(mltune: Command, tmp_path: Path) -> None:
    missing = mltune("worker", "--storage", f"sqlite:///{tmp_path}/none.db")
    (tmp_path / "none.db").touch()
    empty = mltune("worker", "--storage", f"sqlite:///{tmp_path}/none.db")
    unsaid = mltune("worker")

    assert (missing.code, missing.err) == (2, f"mltune: {tmp_path}/none.db: no such file\n")
    assert empty.err == f"mltune: {tmp_path}/none.db: holds no measurements of mltune\n"
    assert unsaid.err == "mltune: worker: needs --storage URL, or MLTUNE_STORAGE to be set\n"


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
