"""Exhaustive search: every config in the space's own order."""

from __future__ import annotations

import random

from optuna.study import Study
from optuna.trial import FrozenTrial

from mltune.search.sampler import ConfigSampler
from mltune.space.config import Config
from mltune.space.config_space import ConfigSpace
from mltune.space.union import members_of


class ExhaustiveSampler(ConfigSampler):
    """Proposes one config after the other; of a union, one space after the other.

    Args:
        space: what is searched.
        seed: decides where it begins; after the last config comes the first one. So a short
            search does not always visit the same corner.
    """

    def __init__(self, space: ConfigSpace, seed: int = 0) -> None:
        super().__init__(space, seed)
        chance = random.Random(seed)
        # No generators, as they cannot be copied.
        self._walks = [
            (member, chance.randrange(member.size), iter(range(member.size)))
            for member in members_of(space)
        ]

    def _propose(self, study: Study, trial: FrozenTrial) -> Config | None:
        for member, first, left in self._walks:
            for passed in left:
                config = member.at((first + passed) % member.size)
                if config in self._unvisited:
                    return config
        return None
