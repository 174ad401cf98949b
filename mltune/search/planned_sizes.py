"""Ends a trial when its config was timed on all planned sizes."""

from __future__ import annotations

from collections.abc import Mapping

from optuna.pruners import BasePruner
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from mltune.search.sampler import BEST, SIZES

_MOST_TIME = 3.0
_ENDED = (TrialState.COMPLETE, TrialState.PRUNED)


class PlannedSizesPruner(BasePruner):
    """Prunes sizes that the sampler has not planned: see `GuidedSampler`.

    A trial without the attribute `sizes` is timed on all. One with the attribute `best` also ends
    before it would take much longer than the best configs take on all sizes together. If their
    times were unknown when it was proposed, the attribute is empty, and the best of the trials
    that have ended count.
    """

    def prune(self, study: Study, trial: FrozenTrial) -> bool:
        """Return whether all planned sizes have been timed."""
        planned = trial.user_attrs.get(SIZES)
        if planned is None:
            return False
        values = trial.intermediate_values
        left = [size for size in planned if size not in values]
        if not left:
            return True
        best = trial.user_attrs.get(BEST)
        if best is None:
            return False
        return _takes_long(trial, [*planned], left[0], dict(enumerate(best)) or _best_of(study))


def _best_of(study: Study) -> dict[int, float]:
    """Return the best value of each size, of the trials that ended."""
    best: dict[int, float] = {}
    for trial in study.get_trials(deepcopy=False, states=_ENDED):
        for size, value in trial.intermediate_values.items():
            best[size] = min(value, best.get(size, value))
    return best


def _takes_long(
    trial: FrozenTrial, planned: list[int], following: int, best: Mapping[int, float]
) -> bool:
    """Whether another size would take too long, at the config's speed on the last size."""
    values = trial.intermediate_values
    timed = [size for size in planned if size in values]
    if not timed or not best.keys() >= {*planned}:
        return False
    slowdown = values[timed[-1]] / best[timed[-1]]
    took = sum(values[size] for size in timed)
    return bool(took + slowdown * best[following] > _MOST_TIME * sum(best.values()))
