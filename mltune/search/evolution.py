"""Evolution: children of the best configs so far, mixed and changed at random."""

from __future__ import annotations

import numpy as np

from mltune.record.measurement import Status
from mltune.search.crossing import children_of
from mltune.search.searcher import check_answer
from mltune.search.unseen import UnseenConfigs
from mltune.space.config import Config
from mltune.space.config_space import ConfigSpace
from mltune.space.ranks import configs_of, ranks_of

_PARENTS = 20
_NEAREST = 64


class EvolutionSearcher:
    """Proposes a child of two good configs; a `Searcher`.

    It starts with random configs until twenty have worked. A child takes each value from either
    parent, and one parameter in its number at random; the nearest config that nobody has seen
    stands in for one that may not be proposed.

    Args:
        seed: decides every proposal, given the answers.
    """

    def __init__(self, space: ConfigSpace, seed: int) -> None:
        self._space = space
        self._seed = seed
        self._unseen = UnseenConfigs(space, seed)
        self._open: set[Config] = set()
        self._values: dict[Config, float] = {}
        self._told: set[Config] = set()

    def ask(self) -> Config | None:
        """Return the next config."""
        config = self._child() or self._unseen.draw()
        if config is not None:
            self._unseen.see(config)
            self._open.add(config)
        return config

    def avoid(self, config: Config) -> None:
        """Take a config for one that was asked for here."""
        if config in self._unseen:
            self._unseen.see(config)
            self._open.add(config)

    def tell(self, config: Config, value: float | None, status: Status) -> None:
        """Let a config that worked have children."""
        check_answer(value, status)
        if config in self._told or config not in self._space:
            return
        self._unseen.see(config)
        self._open.discard(config)
        self._told.add(config)
        if value is not None:
            self._values[config] = value

    def _child(self) -> Config | None:
        if len(self._values) < _PARENTS:
            return None
        # Made anew for each child, so that a resumed search draws what it would have drawn.
        chance = np.random.default_rng((self._seed, len(self._told), len(self._open)))
        best = sorted(self._values, key=self._values.__getitem__)[:_PARENTS]
        # The better of two, twice.
        mother, father = chance.integers(_PARENTS, size=(2, 2)).min(axis=1)
        parameters = self._space.parameters
        ranks = ranks_of(parameters, (best[mother], best[father]))
        (child,) = configs_of(parameters, children_of(ranks[:1], ranks[1:], parameters, chance))
        if child in self._unseen:
            return child
        near = self._space.near(child, _NEAREST)
        return next((config for config in near if config in self._unseen), None)
