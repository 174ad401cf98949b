"""Ends a trial when its config was timed on all planned sizes."""

from __future__ import annotations

from optuna.pruners import BasePruner
from optuna.study import Study
from optuna.trial import FrozenTrial

from mltune.search.sampler import BEST, SIZES

_MOST_TIME = 3.0


class PlannedSizesPruner(BasePruner):
    """Prunes sizes that the sampler has not planned: see `GuidedSampler`.

    A trial without the attribute `sizes` is timed on all. One with the attribute `best` also ends
    before it would take much longer than the best configs take on all sizes together.
    """

    def prune(self, study: Study, trial: FrozenTrial) -> bool:
        """Return whether all planned sizes have been timed."""
        planned = trial.user_attrs.get(SIZES)
        if planned is None:
            return False
        values = trial.intermediate_values
        left = [size for size in planned if size not in values]
        return not left or _takes_long(trial, [*planned], left[0])


def _takes_long(trial: FrozenTrial, planned: list[int], following: int) -> bool:
    """Whether another size would take too long, at the config's speed on the last size."""
    best = trial.user_attrs.get(BEST)
    values = trial.intermediate_values
    timed = [size for size in planned if size in values]
    if best is None or not timed:
        return False
    slowdown = values[timed[-1]] / best[timed[-1]]
    took = sum(values[size] for size in timed)
    return bool(took + slowdown * best[following] > _MOST_TIME * sum(best))
