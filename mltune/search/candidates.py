"""The configs that a search may propose next: all of a space, or many of a huge one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import count, islice

import numpy as np
from numpy.typing import NDArray

from mltune.search.crossing import children_of
from mltune.search.encoding import Encoding
from mltune.space.config import Config
from mltune.space.config_space import FlatSpace
from mltune.space.ranks import Ranks, configs_of, distinct, neighbours_of, ranks_of

MOST_LISTED = 30_000
_SAMPLED = 6_000
_LEADERS = 20
_INNER_LEADERS = 5
_CHILDREN = 3_000


class Candidates:
    """A list of configs with their ranks.

    Args:
        numbers: places of distinct configs in the list, in order.
        ranks: of the configs, as the encoding writes them.
        anywhere: how many come from the whole space, which stand first; the others were made
            from the best configs so far.
    """

    def __init__(self, numbers: dict[Config, int], ranks: Ranks, anywhere: int) -> None:
        self.configs = tuple(numbers)
        self.ranks = ranks
        self.anywhere = anywhere
        self._numbers = numbers

    def with_more(self, configs: Iterable[Config], ranks: Ranks) -> Candidates:
        """Return a list with further configs, which are distinct and new, and their ranks."""
        numbers = self._numbers | dict(zip(configs, count(len(self))))
        return Candidates(numbers, np.concatenate((self.ranks, ranks)), self.anywhere)

    def only(self, numbers: Sequence[int]) -> Candidates:
        """Return a shorter list: the candidates with some numbers, in ascending order."""
        kept = {self.configs[number]: place for place, number in enumerate(numbers)}
        anywhere = sum(number < self.anywhere for number in numbers)
        return Candidates(kept, self.ranks[[*numbers]], anywhere)

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
    and children of these twenty, which combine values of two good configs.

    Args:
        seed: decides the sample and the children.
        most_listed: how many configs a space may have to be listed.
    """

    def __init__(
        self,
        space: FlatSpace,
        encoding: Encoding,
        seed: int,
        most_listed: int = MOST_LISTED,
    ) -> None:
        self._most_listed = most_listed
        self._space = space
        self._encoding = encoding
        self._seed = seed
        # Several models ask for the same candidates, one after the other.
        self._latest: tuple[tuple[Config, ...], Candidates] | None = None

    def around(self, leaders: Iterable[Config]) -> Candidates:
        """Return the candidates, given the best configs so far, the best first."""
        first = tuple(islice(leaders, _LEADERS))
        if self.is_listed or not first:
            return self._base
        if self._latest is None or self._latest[0] != first:
            self._latest = first, self._extended(first)
        return self._latest[1]

    @property
    def is_listed(self) -> bool:
        """Whether the candidates are all configs of the space."""
        return self._space.size <= self._most_listed

    @cached_property
    def _base(self) -> Candidates:
        configs = (
            tuple(self._space)
            if self.is_listed
            else self._space.sample(np.random.default_rng(self._seed), _SAMPLED)
        )
        numbers = {config: number for number, config in enumerate(configs)}
        return Candidates(numbers, self._encoding.ranks(configs), len(configs))

    @cached_property
    def _base_points(self) -> Ranks:
        return ranks_of(self._space.parameters, self._base.configs)

    def _extended(self, leaders: Sequence[Config]) -> Candidates:
        points = ranks_of(self._space.parameters, leaders)
        near_first = self._near(points[:_INNER_LEADERS])
        parts = (
            near_first,
            self._near(points[_INNER_LEADERS:]),
            self._near(near_first),
            self._children(points, leaders[0]),
        )
        found = distinct(np.concatenate(parts), self._base_points)
        return self._base.with_more(
            configs_of(self._space.parameters, found), self._encoding.rows(found)
        )

    def _near(self, points: Ranks) -> Ranks:
        return self._allowed(neighbours_of(self._space.parameters, points))

    def _children(self, leaders: Ranks, best: Config) -> Ranks:
        # The generator depends only on known data, so a resumed search has the same candidates.
        chance = np.random.default_rng((self._seed, int(best.id, 16)))
        mothers, fathers = leaders[chance.integers(len(leaders), size=(2, _CHILDREN))]
        return self._allowed(children_of(mothers, fathers, self._space.parameters, chance))

    def _allowed(self, points: Ranks) -> Ranks:
        return points[self._space.allowed(points)]
