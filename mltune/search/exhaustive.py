"""Exhaustive search: every config in the space's own order."""

from __future__ import annotations

import random

from optuna.study import Study
from optuna.trial import FrozenTrial

from mltune.search.sampler import ConfigSampler
from mltune.space.config import Config
from mltune.space.config_space import ConfigSpace


class ExhaustiveSampler(ConfigSampler):
    """Proposes one config after the other.

    Args:
        space: what is searched.
        seed: decides where it begins; from the end it goes on at the start, so that a search
            that is cut short does not always see the same corner.
    """

    def __init__(self, space: ConfigSpace, seed: int = 0) -> None:
        super().__init__(space, seed)
        self._first = random.Random(seed).randrange(space.size)
        self._passed = 0

    def _propose(self, study: Study, trial: FrozenTrial) -> Config | None:
        while self._passed < self._space.size:
            config = self._space.at((self._first + self._passed) % self._space.size)
            self._passed += 1
            if config in self._unvisited:
                return config
        return None
