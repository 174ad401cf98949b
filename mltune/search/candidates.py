"""The configs that a search may propose next: all of a space, or many of a huge one."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from mltune.search.encoding import Encoding, Ranks
from mltune.space.config import Config
from mltune.space.config_space import ConfigSpace

_MOST_LISTED = 30_000
_SAMPLED = 6_000
_LEADERS = 20


class Candidates:
    """A list of configs with their ranks.

    Args:
        configs: distinct.
    """

    def __init__(self, encoding: Encoding, configs: Iterable[Config]) -> None:
        self.configs = tuple(configs)
        self.ranks: Ranks = encoding.ranks(self.configs)
        self._numbers = {config: number for number, config in enumerate(self.configs)}

    def __len__(self) -> int:
        return len(self.configs)

    def __getitem__(self, number: int) -> Config:
        return self.configs[number]

    def number(self, config: Config) -> int | None:
        """Return a config's place in the list; None if it is not in it."""
        return self._numbers.get(config)

    def others(self, configs: Iterable[Config]) -> NDArray[np.bool_]:
        """Mark the candidates that are not among some configs."""
        free = np.ones(len(self.configs), dtype=np.bool_)
        numbers = [self._numbers.get(config) for config in configs]
        free[[number for number in numbers if number is not None]] = False
        return free


class CandidateSource:
    """Makes the candidates of a space.

    A space of up to 30,000 configs is listed. Of a larger one it takes a uniform sample and the
    surroundings of the best configs so far: everything within two steps of them.

    Args:
        seed: decides the sample.
    """

    def __init__(self, space: ConfigSpace, encoding: Encoding, seed: int) -> None:
        self._space = space
        self._encoding = encoding
        self._listed = space.size <= _MOST_LISTED
        self._base = (
            tuple(space) if self._listed else space.sample(np.random.default_rng(seed), _SAMPLED)
        )
        self._all = Candidates(encoding, self._base)

    def around(self, leaders: Iterable[Config]) -> Candidates:
        """Return the candidates, given the best configs so far, the best first."""
        if self._listed:
            return self._all
        found = dict.fromkeys(self._base)
        for number, leader in zip(range(_LEADERS), leaders, strict=False):
            near = self._space.neighbours(leader)
            found |= dict.fromkeys(near)
            if number < _LEADERS // 4:
                for other in near:
                    found |= dict.fromkeys(self._space.neighbours(other))
        return Candidates(self._encoding, found)
