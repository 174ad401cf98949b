"""The configs that a search may propose next: all of a space, or many of a huge one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from mltune.search.crossing import children_of
from mltune.search.encoding import Encoding, Ranks
from mltune.space.config import Config
from mltune.space.config_space import ConfigSpace
from mltune.space.ranks import configs_of, ranks_of

_MOST_LISTED = 30_000
_SAMPLED = 6_000
_LEADERS = 20
_INNER_LEADERS = 5
_CHILDREN = 3_000
_REMEMBERED = 2_000
"""Configs whose neighbours are kept: those of several rounds, as most leaders stay leaders."""


class Candidates:
    """A list of configs with their ranks.

    Args:
        configs: distinct.
        ranks: of the configs.
    """

    def __init__(self, configs: Iterable[Config], ranks: Ranks) -> None:
        self.configs = tuple(configs)
        self.ranks = ranks
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

    A space of up to 30,000 configs is listed. Of a larger one it takes a uniform sample, the
    surroundings of the best configs so far (within one step of twenty, within two of five),
    and children of these twenty: what is good in one may go with what is good in another.

    Args:
        seed: decides the sample and the children.
    """

    def __init__(self, space: ConfigSpace, encoding: Encoding, seed: int) -> None:
        self._space = space
        self._encoding = encoding
        self._seed = seed
        self._near = lru_cache(_REMEMBERED)(space.neighbours)
        # Several models ask for the same candidates, one after the other.
        self._latest: tuple[tuple[Config, ...], Candidates] | None = None

    def around(self, leaders: Iterable[Config]) -> Candidates:
        """Return the candidates, given the best configs so far, the best first."""
        first = tuple(islice(leaders, _LEADERS))
        if self._is_listed or not first:
            return self._base
        if self._latest is None or self._latest[0] != first:
            self._latest = first, self._extended(first)
        return self._latest[1]

    @property
    def _is_listed(self) -> bool:
        return self._space.size <= _MOST_LISTED

    @cached_property
    def _base(self) -> Candidates:
        configs = (
            tuple(self._space)
            if self._is_listed
            else self._space.sample(np.random.default_rng(self._seed), _SAMPLED)
        )
        return Candidates(configs, self._encoding.ranks(configs))

    def _extended(self, leaders: Sequence[Config]) -> Candidates:
        found: dict[Config, None] = {}
        for number, leader in enumerate(leaders):
            near = self._near(leader)
            found |= dict.fromkeys(near)
            if number < _INNER_LEADERS:
                for other in near:
                    found |= dict.fromkeys(self._near(other))
        found |= dict.fromkeys(self._children(leaders))
        more = [config for config in found if self._base.number(config) is None]
        ranks = np.concatenate((self._base.ranks, self._encoding.ranks(more)))
        return Candidates((*self._base.configs, *more), ranks)

    def _children(self, leaders: Sequence[Config]) -> list[Config]:
        """Children that satisfy the rules of the space."""
        # Made anew from what is known, so that a resumed search has the same ones.
        chance = np.random.default_rng((self._seed, int(leaders[0].id, 16)))
        parameters = self._space.parameters
        ranks = ranks_of(parameters, leaders)
        mothers, fathers = ranks[chance.integers(len(leaders), size=(2, _CHILDREN))]
        children = children_of(mothers, fathers, parameters, chance)
        return configs_of(parameters, children[self._space.allowed(children)])
