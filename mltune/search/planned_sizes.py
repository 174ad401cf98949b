"""Ends a trial when its config was timed on all sizes on which that is worth while."""

from __future__ import annotations

from optuna.pruners import BasePruner
from optuna.study import Study
from optuna.trial import FrozenTrial

from mltune.search.sampler import SIZES


class PlannedSizesPruner(BasePruner):
    """Prunes what the sampler has not planned: see `GuidedSampler`.

    A trial without the attribute `sizes` is timed on all.
    """

    def prune(self, study: Study, trial: FrozenTrial) -> bool:
        """Say whether all the sizes that were planned have been timed."""
        planned = trial.user_attrs.get(SIZES)
        return planned is not None and trial.intermediate_values.keys() >= set(planned)
