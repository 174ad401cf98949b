"""Exhaustive search: every config in the space's own order."""

from __future__ import annotations

import random

from mltune.record.measurement import Status
from mltune.search.searcher import check_answer
from mltune.space.config import Config
from mltune.space.config_space import ConfigSpace


class ExhaustiveSearcher:
    """Proposes one config after the other; a `Searcher`.

    Args:
        seed: decides where it begins; having come to the end it goes on from the start, so that
            a search that is not let finish does not always see the same corner.
    """

    def __init__(self, space: ConfigSpace, seed: int) -> None:
        self._space = space
        self._first = random.Random(seed).randrange(space.size)
        self._passed = 0
        self._seen: set[Config] = set()

    def ask(self) -> Config | None:
        """Return the next config."""
        while self._passed < self._space.size:
            config = self._space.at((self._first + self._passed) % self._space.size)
            self._passed += 1
            if config not in self._seen:
                self._seen.add(config)
                return config
        return None

    def avoid(self, config: Config) -> None:
        """Note that a config needs no proposing any more."""
        self._seen.add(config)

    def tell(self, config: Config, value: float | None, status: Status) -> None:
        """Note that a config needs no proposing any more."""
        check_answer(value, status)
        self._seen.add(config)
