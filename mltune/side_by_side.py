"""Computes things side by side, each in a copy of this process.

Threads would wait for each other at every small operation of numpy, which let go of Python's lock
and take it again: judging rules took 1.4 times the processor time in two threads, and 0.8 of the
time. New processes would load scikit-learn again, which takes a second.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import IO, TypeVar

from mltune.errors import MltuneError
from mltune.machine import usable_cores

T = TypeVar("T")
R = TypeVar("R")


def side_by_side(function: Callable[[T], R], items: Sequence[T]) -> Iterator[R]:
    """Apply a function to items, and yield the answers in their order.

    Where a process cannot be copied safely, which is everywhere but on Linux, they are computed
    one after the other.

    Args:
        function: whose answers and errors can be pickled; what else it changes is lost.
        items: as many at a time as there are cores.

    Raises:
        MltuneError: when the system ended a copy.
    """
    count = min(len(usable_cores()), len(items))
    if count < 2 or sys.platform != "linux":
        yield from map(function, items)
        return
    copies: list[tuple[int, IO[bytes]]] = []
    try:
        for number in range(count):
            copies.append(_begin(function, items[number::count]))
        for place in range(len(items)):
            try:
                worked, answer = pickle.load(copies[place % count][1])  # our own
            except EOFError:
                raise MltuneError("a process that computes was ended by the system") from None
            if not worked:
                raise answer
            yield answer
    finally:
        for process, answers in copies:
            answers.close()
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)


def _begin(function: Callable[[T], R], items: Sequence[T]) -> tuple[int, IO[bytes]]:
    """Start a copy, and return its number and its answers."""
    answers, output = os.pipe()
    with warnings.catch_warnings():
        # The copy computes, and waits for no lock that another thread may have held.
        warnings.simplefilter("ignore", DeprecationWarning)
        process = os.fork()
    if process:
        os.close(output)
        return process, os.fdopen(answers, "rb")
    try:
        os.close(answers)
        gc.disable()
        with os.fdopen(output, "wb") as pipe:
            for item in items:
                pickle.dump(_answer(function, item), pipe)
                pipe.flush()
    finally:
        os._exit(0)


def _answer(function: Callable[[T], R], item: T) -> tuple[bool, R | Exception]:
    try:
        return True, function(item)
    except Exception as error:  # noqa: BLE001  # told by who asked
        return False, error
