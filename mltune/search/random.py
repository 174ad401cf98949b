"""Random search: every config of the space once, in a random order."""

from __future__ import annotations

from optuna.study import Study
from optuna.trial import FrozenTrial

from mltune.search.sampler import ConfigSampler
from mltune.space.config import Config


class RandomSampler(ConfigSampler):
    """Proposes configs uniformly at random."""

    def _propose(self, study: Study, trial: FrozenTrial) -> Config | None:
        return self._unvisited.draw()
