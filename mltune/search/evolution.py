"""Evolution: children of the best configs so far, by crossover and mutation."""

from __future__ import annotations

import numpy as np
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from mltune.search.crossing import children_of
from mltune.search.sampler import ConfigSampler
from mltune.space.config import Config
from mltune.space.config_space import ConfigSpace
from mltune.space.ranks import configs_of, ranks_of
from mltune.space.union import members_of

_PARENTS = 20


class EvolutionSampler(ConfigSampler):
    """Proposes a child of two good configs.

    It starts with random configs until twenty have worked. A child takes each value from either
    parent, and on average one parameter is changed at random; the nearest unvisited config
    replaces a child that may not be proposed. If the parents are in two spaces of a union, the
    child is a mutation of the mother.
    """

    def __init__(self, space: ConfigSpace, seed: int = 0) -> None:
        super().__init__(space, seed)
        self._seed = seed
        self._open: set[Config] = set()
        self._values: dict[Config, float] = {}
        self._told: set[Config] = set()

    def _propose(self, study: Study, trial: FrozenTrial) -> Config | None:
        config = self._child() or self._unvisited.draw()
        if config is not None:
            self._open.add(config)
        return config

    def _avoid(self, config: Config) -> None:
        self._open.add(config)

    def _learn(self, config: Config, trial: FrozenTrial) -> None:
        if config not in self._space or config in self._told:
            return
        self._open.discard(config)
        self._told.add(config)
        if trial.state == TrialState.COMPLETE and trial.values:
            self._values[config] = self._sign * trial.values[0]

    def _child(self) -> Config | None:
        if len(self._values) < _PARENTS:
            return None
        # The generator depends on the child's number, so a resumed search draws the same child.
        chance = np.random.default_rng((self._seed, len(self._told), len(self._open)))
        best = sorted(self._values, key=self._values.__getitem__)[:_PARENTS]
        # The better of two, twice.
        mother, father = chance.integers(_PARENTS, size=(2, 2)).min(axis=1)
        space = next(member for member in members_of(self._space) if best[mother] in member)
        if best[father] not in space:
            father = mother  # a mutation only, as configs of another space have other parameters
        parameters = space.parameters
        ranks = ranks_of(parameters, (best[mother], best[father]))
        (child,) = configs_of(parameters, children_of(ranks[:1], ranks[1:], parameters, chance))
        return self._unvisited_near(child, space)
