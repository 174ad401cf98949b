"""Asks a searcher while trials are measured, for as long as that takes it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Self

from mltune.record import Status
from mltune.search.library import LibrarySearcher
from mltune.space.config import Config

_SWITCH_SECONDS = 0.0005
"""After how long a thread that thinks gives way to the one that measures, which has ten times as
much to wait by Python's default, several times a measurement."""


class Thinker:
    """A searcher whose next proposal is computed in the background.

    While it thinks it hears nothing: what it is to be told waits until the proposal is there. So
    nothing that this class does by itself waits for the searcher, but `ask` and `sizes`.

    Args:
        searcher: used by this thinker alone from now on.
    """

    def __init__(self, searcher: LibrarySearcher) -> None:
        self._searcher = searcher
        self._thread: ThreadPoolExecutor | None = None
        self._thought: Future[Config | None] | None = None
        self._unheard: list[Callable[[], None]] = []

    def __enter__(self) -> Self:
        self._thread = ThreadPoolExecutor(1)
        self._switch_seconds = sys.getswitchinterval()
        sys.setswitchinterval(_SWITCH_SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        if self._thread is not None:
            self._thread.shutdown()
            sys.setswitchinterval(self._switch_seconds)
        self._hear()

    @property
    def has_thought(self) -> bool:
        """Whether `ask` has an answer at once."""
        return self._thought is not None and self._thought.done()

    def think(self) -> None:
        """Begin to compute the next proposal, unless that has begun."""
        if self._thread is None:
            raise ValueError("thinks only as a context manager")
        if self._thought is None:
            self._hear()
            self._thought = self._thread.submit(self._searcher.ask)

    def ask(self) -> Config | None:
        """Return the next proposal, and wait for it if need be; None when there is none left."""
        self.think()
        thought, self._thought = self._thought, None
        return thought.result() if thought else None

    def sizes(self, config: Config) -> tuple[int, ...]:
        """Return the sizes that a config is worth being timed on."""
        if self._thought is not None:
            self._thought.exception()  # waits; `ask` raises it
        return self._searcher.sizes(config)

    def tell(self, config: Config, values: Mapping[int, float], status: Status) -> None:
        """Say how a config did."""
        self._unheard.append(partial(self._searcher.tell, config, values, status))

    def avoid(self, config: Config) -> None:
        """Say that a config is tried elsewhere."""
        self._unheard.append(partial(self._searcher.avoid, config))

    def _hear(self) -> None:
        for hear in self._unheard:
            hear()
        self._unheard.clear()
