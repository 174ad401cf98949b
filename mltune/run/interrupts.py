"""Holds Ctrl-C back while a transaction is open."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_held: list[int] = []
"""The signals that came and have had no effect so far."""


@contextmanager
def held_interrupts() -> Iterator[None]:
    """Hold Ctrl-C and SIGTERM back until the end, where they have their usual effect.

    The traceback of an interrupted transaction can hold its connection, and so the lock of the
    database, while the end of a search waits for this very lock.
    """
    if _is_main_thread():  # the only one that is interrupted
        with _hold(signal.SIGTERM), _hold(signal.SIGINT):
            yield
    else:
        yield


def are_held() -> bool:
    """Whether this thread is to be interrupted at the end, so that it should not wait longer."""
    return bool(_held) and _is_main_thread()


@contextmanager
def _hold(number: int) -> Iterator[None]:
    usual = signal.getsignal(number)
    if not callable(usual):  # ignored, or ends the process
        yield
        return
    signal.signal(number, lambda number, _: _held.append(number))
    try:
        yield
    finally:
        signal.signal(number, usual)
        if number in _held:
            _held[:] = [each for each in _held if each != number]
            usual(number, None)


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
