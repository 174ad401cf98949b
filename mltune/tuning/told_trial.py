"""A trial for `study.tell`, whose copies share the distributions."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Self

from optuna.distributions import BaseDistribution
from optuna.trial import FrozenTrial, TrialState

_HOLDERS = (dict, list)


class ToldTrial(FrozenTrial):
    """A trial that ran elsewhere or earlier.

    Optuna copies every trial that a study gets, down to the distribution of each parameter. Every
    process of a shared run tells its study the trials of all others, so these copies would be most
    of the cost. Distributions and attributes' values are never changed.

    Args:
        state: how it ended, or that it runs.
        value: of a complete trial.
        params: with the kernel family.
        distributions: of the parameters.
        values: by size.
        attributes: that a dashboard shows.
    """

    def __init__(
        self,
        state: TrialState,
        value: float | None,
        params: Mapping[str, Any],
        distributions: Mapping[str, BaseDistribution],
        values: Mapping[int, float],
        attributes: Mapping[str, Any],
    ) -> None:
        now = datetime.now()
        super().__init__(
            number=-1,  # the study assigns a number
            trial_id=-1,
            state=state,
            value=value,
            datetime_start=now,
            datetime_complete=now if state.is_finished() else None,
            params=dict(params),
            distributions=dict(distributions),
            user_attrs=dict(attributes),
            system_attrs={},
            intermediate_values=dict(values),
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        copied = type(self).__new__(type(self))
        vars(copied).update(
            (name, value.copy() if isinstance(value, _HOLDERS) else value)
            for name, value in vars(self).items()
        )
        return copied
