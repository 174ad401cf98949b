"""A process that works is stopped by its processor time; one that waits, only much later."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest

from mltune.runner import work_limit
from mltune.runner.process import WorkerProcess
from mltune.runner.work_limit import PATIENCE, WorkLimit, processor_seconds

_BURN = "while True: pass"
_SLEEP = "import time; time.sleep(600)"
_CHILD_BURNS = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'while True: pass'])"
Start = Callable[[str], WorkerProcess]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start a process that runs Python text."""
    started: list[WorkerProcess] = []

    def begin(text: str) -> WorkerProcess:
        started.append(WorkerProcess((sys.executable, "-c", text)))
        return started[-1]

    yield begin
    for each in started:
        each.kill()


@pytest.mark.long
def test_what_works_is_stopped_by_its_work(start: Start) -> None:
    process = start(_BURN)

    with pytest.raises(TimeoutError, match=r"^0\.5 s of processor time$"):
        process.receive(0.5, is_work=True)

    worked = processor_seconds(process.pid)
    assert worked is not None
    assert worked >= 0.3


def test_what_its_child_works_counts(start: Start) -> None:
    with pytest.raises(TimeoutError, match=r"^0\.5 s of processor time$"):
        start(_CHILD_BURNS).receive(0.5, is_work=True)


@pytest.mark.long
def test_what_waits_is_stopped_much_later(start: Start) -> None:
    began = time.monotonic()

    with pytest.raises(TimeoutError, match=rf"^{PATIENCE * 0.3:g} s$"):
        start(_SLEEP).receive(0.3, is_work=True)

    assert time.monotonic() - began >= PATIENCE * 0.3


def test_what_is_kept_from_working_may_go_on(start: Start) -> None:
    # It answers after twice its limit, but has hardly worked since its last answer.
    answer = "print('{}', flush=True); time.sleep"
    work = "while time.process_time() < 0.7: pass"
    process = start(f"import time\n{work}\n{answer}(1.2); {answer}(600)")

    assert process.receive(30) == {}
    assert process.receive(0.6, is_work=True) == {}


def test_a_limit_that_is_none_of_work_is_one_of_the_wall(start: Start) -> None:
    with pytest.raises(TimeoutError, match=r"^0\.3 s$"):
        start(_SLEEP).receive(0.3)


def test_where_no_work_is_told_the_wall_counts(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work_limit, "processor_seconds", lambda _: None)

    with pytest.raises(TimeoutError, match=r"^0\.3 s$"):
        start(_SLEEP).receive(0.3, is_work=True)


def test_a_process_that_has_ended_tells_nothing() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()

    assert processor_seconds(process.pid) is None
    assert processor_seconds(os.getpid())


def test_threads_do_not_make_a_limit_shorter_than_by_the_wall() -> None:
    limit = WorkLimit(os.getpid(), 60.0)

    assert 0 < limit.left() <= 60
