from __future__ import annotations

import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from mltune.errors import UsageError
from mltune.run.run import Run
from mltune.workflow.live_report import serve
from tests.patience import PATIENCE_SECONDS

MakeRun = Callable[..., Path]


def fetch(address: str) -> str:
    with urllib.request.urlopen(address, timeout=30) as answer:
        return str(answer.read().decode())


def test_the_page_follows_the_run(make_run: MakeRun) -> None:
    folder = make_run(tiles=(1, 2))
    with serve(folder, 0) as (address, run_server):
        thread = threading.Thread(target=run_server, daemon=True)
        thread.start()
        before = fetch(address)
        with Run.resume(folder) as run:
            row = run.store.measurements()[-1]
            run.database.add(replace(row, id=0, trial=7, kernel="kernel_of_later"))
        after = fetch(address)
        with pytest.raises(urllib.error.HTTPError, match="404"):
            fetch(f"{address}etc/passwd")

    thread.join(timeout=PATIENCE_SECONDS)
    assert not thread.is_alive()
    assert 'data-refresh="5"' in before
    assert "kernel_of_later" not in before
    assert "kernel_of_later" in after


def test_only_this_host_is_served(make_run: MakeRun) -> None:
    with serve(make_run(), 0) as (address, _):
        assert address.startswith("http://127.0.0.1:")


def test_a_taken_port_is_told_in_one_line(make_run: MakeRun) -> None:
    folder = make_run()
    with serve(folder, 0) as (address, _):
        port = int(address.rstrip("/").rpartition(":")[2])
        with pytest.raises(UsageError, match=f"--port {port}"), serve(folder, port):
            pass


def test_a_folder_without_a_run_is_told_before_anything_is_served(tmp_path: Path) -> None:
    with pytest.raises(UsageError), serve(tmp_path / "none", 0):
        pass
