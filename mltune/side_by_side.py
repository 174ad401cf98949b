"""Computes things side by side, each in a copy of this process.

Threads would not help: small numpy operations often release and take Python's lock, and wait for
each other. To judge rules, two threads took 1.4 times the processor time and 0.8 of the time. New
processes would load scikit-learn again, which takes a second. joblib's copies (its backend
`multiprocessing`) give no result before all have ended, and it waits forever for a killed copy.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import signal
import sys
import warnings
from collections.abc import Callable, Generator, Sequence
from typing import IO, TypeVar

from mltune.errors import MltuneError
from mltune.machine import end_with_parent, memory_bytes, usable_cores

T = TypeVar("T")
R = TypeVar("R")


def side_by_side(
    function: Callable[[T], R], items: Sequence[T], bytes_each: int = 1
) -> Generator[R, None, None]:
    """Apply a function to items, and yield the results in the order of the items.

    As many items at a time are computed as there are cores, and as half of the memory has room
    for. On systems other than Linux a process cannot be copied safely; there the items are
    computed one after the other.

    Args:
        function: its results and errors can be pickled; its other effects are lost.
        items: its arguments.
        bytes_each: about the memory that an item takes, if that is much.

    Raises:
        MltuneError: if the system ended a copy.
    """
    room = (memory_bytes() or sys.maxsize) // 2 // bytes_each
    count = min(len(usable_cores()), len(items), room)
    if count < 2 or sys.platform != "linux":
        yield from map(function, items)
        return
    copies: list[tuple[int, IO[bytes]]] = []
    try:
        for number in range(count):
            copies.append(_begin(function, items[number::count]))
        for place in range(len(items)):
            try:
                worked, answer = pickle.load(copies[place % count][1])  # written by our own copy
            except EOFError:
                raise MltuneError("a process that computes was ended by the system") from None
            if not worked:
                raise answer
            yield answer
    finally:
        for process, answers in copies:
            answers.close()
            # The system forgets ended processes at once if the program ignores SIGCHLD.
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                os.kill(process, signal.SIGKILL)
                os.waitpid(process, 0)


def _begin(function: Callable[[T], R], items: Sequence[T]) -> tuple[int, IO[bytes]]:
    """Start a copy, and return its process number and the pipe with its results."""
    answers, output = os.pipe()
    with warnings.catch_warnings():
        # The warning is about locks that other threads hold. The copy only computes and takes no
        # lock.
        warnings.simplefilter("ignore", DeprecationWarning)
        process = os.fork()
    if process:
        os.close(output)
        return process, os.fdopen(answers, "rb")
    try:
        end_with_parent()
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
    except Exception as error:  # noqa: BLE001  # raised again in the first process
        return False, error
