"""Any searcher as an Optuna sampler, for a study of somebody's own.

    sampler = SearcherSampler(SEARCHERS["guided"](space, seed), space.parameters)
    optuna.create_study(sampler=sampler).optimize(objective, n_trials=100)

The objective suggests each parameter with `suggest_categorical(name, values)`; a trial that is
pruned or fails counts as a failing config.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.samplers import BaseSampler
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from mltune.errors import MltuneError, UsageError
from mltune.record.measurement import Status
from mltune.search.searcher import Searcher
from mltune.space.config import Config
from mltune.space.parameter import Parameter


class SearcherSampler(BaseSampler):
    """Hands a searcher's proposals to a study that minimises, and its answers back.

    Args:
        searcher: used by this sampler alone.
        parameters: of the searcher's space.
    """

    def __init__(self, searcher: Searcher, parameters: Sequence[Parameter]) -> None:
        self._searcher = searcher
        self._distributions: dict[str, BaseDistribution] = {
            parameter.name: CategoricalDistribution(parameter.values) for parameter in parameters
        }
        self._asked: dict[int, Config] = {}

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        """Return the parameters of the space."""
        return dict(self._distributions)

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Return the searcher's next config.

        Raises:
            MltuneError: when there is none left.
        """
        config = self._searcher.ask()
        if config is None:
            raise MltuneError(f"study '{study.study_name}': every config has been tried")
        self._asked[trial.number] = config
        return dict(config)

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> NoReturn:
        """Refuse what is no parameter of the space.

        Raises:
            UsageError: always.
        """
        known = ", ".join(self._distributions)
        raise UsageError(f"study '{study.study_name}': unknown '{param_name}' (known: {known})")

    def after_trial(
        self,
        study: Study,
        trial: FrozenTrial,
        state: TrialState,
        values: Sequence[float] | None,
    ) -> None:
        """Tell the searcher how the trial ended."""
        config = self._asked.pop(trial.number, None)
        if config is None:
            return
        if state is TrialState.COMPLETE and values:
            self._searcher.tell(config, values[0], Status.OK)
        else:
            self._searcher.tell(config, None, Status.INVALID)
