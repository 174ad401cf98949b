"""Asks a study for proposals in the background, while trials are measured."""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Thread
from typing import Generic, Self, TypeVar

T = TypeVar("T")

_SWITCH_SECONDS = 0.0005
"""After this time a thread that computes a proposal lets the measuring thread run. By Python's
default that would take ten times as long, several times a measurement.
"""


class BackgroundSampler(Generic[T]):
    """Computes the next proposal in the background.

    Results that the study gets meanwhile count from the following proposal on.

    Args:
        propose: returns the next proposal, or None when the space is used up; it is called by this
            object only, one call at a time.
        prepare: computes what later proposals need, beside the first one.
        is_apart: whether the background may compute. If the device is the processor it may not, as
            that would disturb measurements. Then `begin` does nothing, and `ask` computes.
    """

    def __init__(
        self,
        propose: Callable[[], T | None],
        *,
        is_apart: bool,
        prepare: Callable[[], None] = lambda: None,
    ) -> None:
        self._propose = propose
        self._prepare = prepare
        self._is_apart = is_apart
        self._thread: ThreadPoolExecutor | None = None
        self._next: Future[T | None] | None = None

    def __enter__(self) -> Self:
        self._switch_seconds = sys.getswitchinterval()
        if self._is_apart:
            self._thread = ThreadPoolExecutor(1)
            self._preparing = Thread(target=self._prepare, daemon=True)
            self._preparing.start()
            sys.setswitchinterval(_SWITCH_SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        if self._thread is not None:
            self._thread.shutdown()
            self._preparing.join()
            self._thread = None
            sys.setswitchinterval(self._switch_seconds)

    @property
    def is_late(self) -> bool:
        """Whether `ask` would have to wait for the background."""
        return self._thread is not None and (self._next is None or not self._next.done())

    def begin(self) -> None:
        """Begin to compute the next proposal, unless that has begun."""
        if self._thread is not None and self._next is None:
            self._next = self._thread.submit(self._propose)

    def ask(self) -> T | None:
        """Return the next proposal; None when the space is used up."""
        begun, self._next = self._next, None
        return self._propose() if begun is None else begun.result()

    def left(self) -> T | None:
        """Return the proposal that was begun and never asked for; for the end only."""
        begun, self._next = self._next, None
        return None if begun is None or begun.exception() else begun.result()
