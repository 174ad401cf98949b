"""A trial that a study is told of: copies of it share the distributions."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Self

from optuna.distributions import BaseDistribution
from optuna.trial import FrozenTrial, TrialState

_HOLDERS = (dict, list)


class ToldTrial(FrozenTrial):
    """A trial that ran elsewhere or earlier.

    Optuna copies every trial that a study is given, down to the distribution of each parameter.
    Every process of a shared run tells its study all trials of all others, so those copies would
    cost more than the rest of it. Nobody changes a distribution, or an attribute's value.

    Args:
        state: how it ended, or that it runs.
        value: of a complete trial.
        params: with the kernel family.
        distributions: of those.
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
            number=-1,  # a study numbers it
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
