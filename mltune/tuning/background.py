"""Asks a study for proposals in the background, while trials are measured."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from typing import Generic, Self, TypeVar

from mltune.tuning.background_call import BackgroundCall

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
        self._next = BackgroundCall(propose, in_thread=is_apart)
        self._prepare = prepare

    def __enter__(self) -> Self:
        self._switch_seconds = sys.getswitchinterval()
        self._next.__enter__()
        if self._next.has_thread:
            self._preparing = Thread(target=self._prepare, daemon=True)
            self._preparing.start()
            sys.setswitchinterval(_SWITCH_SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        if self._next.has_thread:
            self._next.__exit__()
            self._preparing.join()
            sys.setswitchinterval(self._switch_seconds)

    @property
    def is_late(self) -> bool:
        """Whether `ask` would have to wait for the background."""
        return self._next.has_thread and not self._next.is_done

    def begin(self) -> None:
        """Begin to compute the next proposal, unless that has begun."""
        self._next.begin()

    def ask(self) -> T | None:
        """Return the next proposal; None when the space is used up."""
        return self._next.collect()

    def left(self) -> T | None:
        """Return the proposal that was begun and never asked for; for the end only."""
        with suppress(Exception):  # nobody asks for this proposal any more
            return self._next.collect() if self._next.is_begun else None
        return None
