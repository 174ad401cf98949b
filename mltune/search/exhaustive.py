"""Exhaustive search: every config in the space's own order."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import chain

from optuna.study import Study
from optuna.trial import FrozenTrial

from mltune.search.sampler import ConfigSampler
from mltune.space.config import Config
from mltune.space.config_space import ConfigSpace, FlatSpace
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
        self._walk = chain.from_iterable(
            _round(member, chance.randrange(member.size)) for member in members_of(space)
        )

    def _propose(self, study: Study, trial: FrozenTrial) -> Config | None:
        return next((config for config in self._walk if config in self._unvisited), None)


def _round(space: FlatSpace, first: int) -> Iterator[Config]:
    """Yield every config in the space's own order, beginning with one of them."""
    for passed in range(space.size):
        yield space.at((first + passed) % space.size)
