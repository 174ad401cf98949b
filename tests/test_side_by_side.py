"""Copies of a process answer in order, pass on errors, and leave nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import IO

import pytest

from mltune import side_by_side as module
from mltune.errors import MltuneError, UsageError
from mltune.side_by_side import side_by_side
from tests.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="copies are made on Linux only")


@pytest.fixture(autouse=True)
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "usable_cores", lambda: frozenset({0, 1}))


def test_answers_come_in_order_from_two_copies() -> None:
    answers = [*side_by_side(lambda number: (number**2, os.getpid()), range(5))]

    assert [square for square, _ in answers] == [0, 1, 4, 9, 16]
    assert len({process for _, process in answers}) == 2
    assert os.getpid() not in {process for _, process in answers}


def test_one_core_needs_no_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "usable_cores", lambda: frozenset({0}))

    assert {*side_by_side(lambda _: os.getpid(), range(3))} == {os.getpid()}


def test_no_more_are_computed_at_a_time_than_the_memory_has_room_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "memory_bytes", lambda: 10_000)

    def processes(bytes_each: int) -> set[int]:
        return {*side_by_side(lambda _: os.getpid(), range(4), bytes_each)}

    assert len(processes(2_500)) == 2
    assert processes(2_501) == {os.getpid()}
    assert processes(20_000) == {os.getpid()}


def test_an_error_is_raised_here_and_ends_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    begin, begun = module._begin, list[int]()

    def begin_noted(function: Callable[[int], int], items: Sequence[int]) -> tuple[int, IO[bytes]]:
        copy = begin(function, items)
        begun.append(copy[0])
        return copy

    monkeypatch.setattr(module, "_begin", begin_noted)

    def fail(number: int) -> int:
        if number == 1:
            raise UsageError("no such number")
        return number

    answers = side_by_side(fail, range(4))
    assert next(answers) == 0
    with pytest.raises(UsageError, match="no such number"):
        next(answers)
    assert len(begun) == 2
    for process in begun:
        with pytest.raises(ChildProcessError):
            os.waitpid(process, os.WNOHANG)


def test_a_copy_that_is_killed_is_one_line() -> None:
    def end(number: int) -> int:
        os.kill(os.getpid(), signal.SIGKILL)
        return number

    with pytest.raises(MltuneError, match="was ended by the system"):
        next(side_by_side(end, range(2)))


SLEEPER = """
import os, time
from mltune import side_by_side as module

def sleep(number):
    os.write(1, b"begun\\n")
    time.sleep(3600)

module.usable_cores = lambda: frozenset({0, 1})
next(module.side_by_side(sleep, range(2)))
"""


def test_copies_end_with_a_killed_process() -> None:
    with subprocess.Popen([sys.executable, "-c", SLEEPER], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        assert [parent.stdout.readline() for _ in range(2)] == [b"begun\n"] * 2
        parent.kill()

        said, _ = parent.communicate(timeout=PATIENCE_SECONDS)  # until no copy has the pipe

    assert said == b""


def test_a_program_that_ignores_the_end_of_its_processes_gets_its_answers() -> None:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        assert [*side_by_side(abs, (-1, -2))] == [1, 2]
    finally:
        signal.signal(signal.SIGCHLD, before)
