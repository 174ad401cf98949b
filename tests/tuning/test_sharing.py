from __future__ import annotations

import json
import os
import signal
import sys
from dataclasses import replace

import pytest

from mltune.device import entry_of
from mltune.errors import MltuneError, UsageError
from mltune.run.run_info import RunInfo
from mltune.tuning import local_workers
from mltune.tuning.local_workers import LocalWorkers
from mltune.tuning.search_options import SearchOptions, check_options, without_password
from mltune.tuning.sharing import device_key, own_seed


def test_a_gpu_is_known_by_its_uuid_wherever_it_is_listed(info: RunInfo) -> None:
    gpu = replace(info.device, kind="gpu", uuid="0123")

    assert device_key(gpu, "0:0") == device_key(replace(gpu, name="as seen here"), "2:1")
    assert device_key(gpu, "0:0") != device_key(replace(gpu, uuid="0124"), "0:0")


def test_a_device_without_a_uuid_is_known_by_machine_platform_and_number(info: RunInfo) -> None:
    assert device_key(info.device, "0:1") == device_key(info.device, "3:1")
    assert device_key(info.device, "0:1") != device_key(info.device, "0:0")


def test_a_process_keeps_its_seed() -> None:
    assert own_seed() == own_seed()


def test_a_command_is_kept_without_its_password() -> None:
    url = "postgresql+psycopg://me:secret@db/tuning"
    shown = "postgresql+psycopg://me:***@db/tuning"

    assert without_password(("mltune", "--storage", url), url) == ("mltune", "--storage", shown)
    assert without_password((f"--storage={url}",), url) == (f"--storage={shown}",)
    assert without_password(("mltune", "search"), None) == ("mltune", "search")


def test_a_shared_search_has_no_patience() -> None:
    with pytest.raises(UsageError, match=r"^--patience: a search with --storage ends by its"):
        check_options(SearchOptions(storage="sqlite:///all.db", patience=10))


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
def test_workers_of_a_background_job_are_stopped_although_they_ignore_ctrl_c(
    info: RunInfo, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sleep(*_: str) -> list[str]:
        return [sys.executable, "-c", "import time; time.sleep(20)"]

    monkeypatch.setattr(local_workers, "python_module", sleep)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # which the worker inherits
    try:
        workers = LocalWorkers([entry_of("0:0", info.device)], "sqlite:///none.db", "s")
    finally:
        signal.signal(signal.SIGINT, before)

    workers.stop()

    assert [each.returncode for each in workers._processes] == [-signal.SIGTERM]


def test_a_worker_that_was_killed_is_told_once(
    info: RunInfo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        local_workers, "python_module", lambda *_: [sys.executable, "-c", "raise SystemExit(7)"]
    )
    entries = [entry_of(number, info.device) for number in ("0:0", "0:1")]
    workers = LocalWorkers(entries, "sqlite:///none.db", "s")

    with pytest.raises(MltuneError, match=r"^2 of 2 workers failed \(exit code 7, 7\)$"), workers:
        workers.wait()


def test_a_sampler_may_print_before_its_workers_result(
    info: RunInfo, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = {"trials": 3, "more": {"than": {}}}
    says = f"print('my sampler'); print({json.dumps(result, indent=2)!r})"
    monkeypatch.setattr(local_workers, "python_module", lambda *_: [sys.executable, "-c", says])
    workers = LocalWorkers([entry_of("0:0", info.device)], "sqlite:///none.db", "s")

    assert workers.wait() == [result]
