"""A sampler over the configs of a space: every proposal is feasible, and is made once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from threading import Lock
from typing import Any

from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, Trial, TrialState

from mltune.errors import MltuneError, UsageError
from mltune.search.distributions import distributions_of, suggest
from mltune.search.expected_gain import ExpectedGain
from mltune.search.unvisited import unvisited_of
from mltune.space.config import Config, Value
from mltune.space.config_space import ConfigSpace
from mltune.space.parameter import Parameter
from mltune.space.union import FAMILY, UnionSpace, without_family

SIZES = "sizes"
"""The trial's attribute that lists the sizes on which its config is worth timing."""

_NEAREST = 64

BEST = "best"
"""The trial's attribute that lists the best values of all sizes so far, for a config that may be
much slower: it is timed on further sizes only while that takes not much longer than these.
"""


class SpaceUsedUpError(MltuneError):
    """Every config of the space has been proposed.

    Args:
        study: its name.
        trial: the number of the trial that asked, which is still running.
    """

    def __init__(self, study: str, trial: int) -> None:
        super().__init__(f"study '{study}': every config has been tried")
        self.study, self.trial = study, trial

    def __reduce__(self) -> tuple[Any, ...]:  # a process of a pool sends it to its parent
        return SpaceUsedUpError, (self.study, self.trial)


class ConfigSampler(BaseSampler, ABC):
    """Proposes configs of one space, each at most once; learns from the trials of a study.

    When it is asked, it reads the other trials from the study, in the order in which they ended.
    So it can continue a study that another process began or shares. The config of a running trial
    is not proposed again. Proposals depend only on the space, the seed, and those trials.

    In a study over a `UnionSpace` the family is a parameter of the trial, and the others are those
    of the config that the family has: `suggest_config` has a trial suggest them.

    Args:
        space: to search.
        seed: decides the proposals.
        numeric: whether numeric parameters are ranges in the study, for samplers that compute with
            them.
    """

    def __init__(self, space: ConfigSpace, seed: int = 0, *, numeric: bool = False) -> None:
        if seed < 0:
            raise UsageError(f"seed: must be at least 0, got {seed}")
        self._space = space
        self._unvisited = unvisited_of(space, seed)
        self._numeric = numeric
        self._families: dict[int, str] = {}
        """Of trials that are being asked for."""
        self._distributions = distributions_of(space.parameters, numeric=numeric)
        self._begun: set[int] = set()
        """Numbers of trials that run, here or elsewhere, or have ended."""
        self._ended: set[int] = set()
        self._sign = 1  # -1 where the study maximises
        self._taking_turns = Lock()
        """The threads of a user's study (`n_jobs`) take turns."""
        self._settled = 0
        """All trials before this number have ended and were learned from."""

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the lock: every copy has its own."""
        return {name: each for name, each in vars(self).items() if name != "_taking_turns"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._taking_turns = Lock()

    @property
    def is_union(self) -> bool:
        """Whether the space is a union, whose configs name their family."""
        return isinstance(self._space, UnionSpace)

    @property
    def distributions(self) -> dict[str, BaseDistribution]:
        """The parameters of the space, except the family.

        For a space that is no union, `study.ask` takes this as `fixed_distributions`.
        """
        return dict(self._distributions)

    def prepare(self) -> None:
        """Compute everything that depends on no answer, in a thread beside the first trials."""

    def begin(self, study: Study, family: BaseDistribution) -> tuple[Trial, Config]:
        """Let a study ask for a trial, which gets the next config and its family.

        Raises:
            SpaceUsedUpError: when there is no config left.
        """
        if not self.is_union:
            trial = study.ask({FAMILY: family, **self._distributions})
            return trial, self.config_of(trial.params)
        trial = study.ask({FAMILY: family})
        return trial, self.suggest_config(trial)

    def suggest_config(self, trial: Trial) -> Config:
        """Let a trial with a family suggest the rest of its config."""
        names: Iterable[str] = self._distributions
        if self.is_union:
            # A user may have enqueued a config, whose family is not the proposed one.
            fixed = trial._fixed_params
            names = (fixed if FAMILY in fixed else trial.relative_params).keys() - {FAMILY}
        values = {name: suggest(trial, name, self._distributions[name]) for name in names}
        return self.config_of({FAMILY: trial.params[FAMILY], **values})

    def config_of(self, params: Mapping[str, Value]) -> Config:
        """Return the config of a trial with these parameters."""
        config = Config.of(params)
        return config if self.is_union else without_family(config)

    def widen(self, parameters: Sequence[Parameter]) -> None:
        """Allow configs of other spaces in the study; their parameters may have the same names.

        Args:
            parameters: of those spaces.
        """
        known = distributions_of((*self._space.parameters, *parameters), numeric=self._numeric)
        self._distributions = {name: known[name] for name in self._distributions}

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        """Return the parameters of the space."""
        return dict(self._distributions)

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Return the next config.

        Raises:
            SpaceUsedUpError: when there is none left.
        """
        with self._taking_turns:
            self._read(study, trial)
            config = self._propose(study, trial)
            if config is None:
                raise SpaceUsedUpError(study.study_name, trial.number)
            self._unvisited.visit(config)
            self._begun.add(trial.number)
            if self.is_union:
                self._families[trial.number] = config.word(FAMILY)
        return dict(without_family(config))

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> str:
        """Return the kernel family of the space; other parameters are an error.

        Raises:
            UsageError: for any other parameter.
        """
        if param_name == FAMILY:
            return self._families.pop(trial.number, self._space.family)
        known = ", ".join(self._distributions)
        raise UsageError(
            f"study '{study.study_name}': unknown parameter '{param_name}' (known: {known})"
        )

    def worthwhile(self, study: Study, config: Config) -> tuple[int, ...] | None:
        """Return the sizes on which a config from elsewhere is worth timing; None for all."""
        return None

    def expected_gain(self, study: Study, trials: int) -> ExpectedGain | None:
        """Return the expected gain of a number of further trials; None if unknown."""
        return None

    def _unvisited_near(self, wish: Config, space: ConfigSpace) -> Config | None:
        """Return the wish, or a config near it if it was visited; None if all near ones were."""
        if wish in self._unvisited:
            return wish
        near = space.near(wish, _NEAREST)
        return next((config for config in near if config in self._unvisited), None)

    @abstractmethod
    def _propose(self, study: Study, trial: FrozenTrial) -> Config | None:
        """Return an unvisited config, or None when there is none left."""

    def _learn(self, config: Config, trial: FrozenTrial) -> None:
        """Learn from a trial that has ended; its config may be of another space."""

    def _avoid(self, config: Config) -> None:
        """Note that a config of the space is tried elsewhere."""

    def _read(self, study: Study, asking: FrozenTrial | None = None) -> None:
        """Learn from trials that have ended since the last time, and note running ones."""
        trials = study.get_trials(deepcopy=False)[self._settled :]
        self._sign = -1 if study.direction == StudyDirection.MAXIMIZE else 1
        news = [
            trial
            for trial in trials
            if trial.state.is_finished() and trial.number not in self._ended
        ]
        for trial in sorted(news, key=_ended_at):
            self._ended.add(trial.number)
            self._begun.add(trial.number)
            if (config := self._tried(trial)) is not None:
                self._unvisited.visit(config)
                self._learn(config, trial)
        for trial in trials:
            is_other = asking is None or trial.number != asking.number
            if trial.state == TrialState.RUNNING and is_other and trial.number not in self._begun:
                config = self._tried(trial)
                if config is not None and config in self._unvisited:
                    self._begun.add(trial.number)
                    self._unvisited.visit(config)
                    self._avoid(config)
        while self._settled in self._ended:
            self._settled += 1

    def _tried(self, trial: FrozenTrial) -> Config | None:
        """Return the config of a trial; None before it has one."""
        return self.config_of(trial.params) if trial.params.keys() - {FAMILY} else None


def set_attribute(study: Study, trial: FrozenTrial, name: str, value: Any) -> None:
    """Set an attribute of the trial that is asked for."""
    study._storage.set_trial_user_attr(trial._trial_id, name, value)
    # The caller and the pruner read this object, not the stored trial.
    trial.user_attrs[name] = value


def _ended_at(trial: FrozenTrial) -> datetime:
    return trial.datetime_complete or datetime.max
