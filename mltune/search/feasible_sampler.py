"""Any Optuna sampler over the feasible configs of a space.

A sampler of Optuna knows no constraints and may propose a config twice. So its proposal is only a
wish: if the wished config is not feasible or was visited, the nearest unvisited config replaces
it. The trial of the study then holds the replacement, so that the sampler learns from the config
that was really tried.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import optuna
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from mltune.errors import UsageError
from mltune.search.distributions import family_distribution
from mltune.search.sampler import ConfigSampler
from mltune.space.config import Config, Value
from mltune.space.config_space import ConfigSpace, FlatSpace
from mltune.space.parameter import Parameter
from mltune.space.union import FAMILY, UnionSpace, members_of


class FeasibleSampler(ConfigSampler):
    """Turns a sampler's wishes into feasible unvisited configs.

    Args:
        space: to search.
        sampler: makes the wishes; it reads the study by itself.
        seed: of configs that are drawn at random.
        numeric: whether numeric parameters are ranges in the study, as Optuna's CMA-ES, QMC and
            Gaussian process need.
        starts_evenly: whether to draw feasible configs uniformly until the sampler proposes all
            parameters together; otherwise it is asked for each parameter by itself.
    """

    def __init__(
        self,
        space: ConfigSpace,
        sampler: BaseSampler,
        seed: int = 0,
        *,
        numeric: bool = False,
        starts_evenly: bool = False,
    ) -> None:
        super().__init__(space, seed, numeric=numeric)
        self._sampler = sampler
        self._starts_evenly = starts_evenly
        self._family = family_distribution(member.family for member in members_of(space))

    def widen(self, parameters: Sequence[Parameter]) -> None:
        """Allow configs of other spaces in the study; see `ConfigSampler.widen`."""
        super().widen(parameters)
        others = [value for one in parameters if one.name == FAMILY for value in one.values]
        own = [member.family for member in members_of(self._space)]
        self._family = family_distribution((*own, *map(str, others)))

    def reseed_rng(self) -> None:
        """Reseed the sampler, as Optuna does in a thread of its own."""
        self._sampler.reseed_rng()

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        """Tell the sampler that a trial begins."""
        self._sampler.before_trial(study, trial)

    def after_trial(
        self,
        study: Study,
        trial: FrozenTrial,
        state: TrialState,
        values: Sequence[float] | None,
    ) -> None:
        """Tell the sampler that a trial has ended."""
        self._sampler.after_trial(study, trial, state, values)

    def _propose(self, study: Study, trial: FrozenTrial) -> Config | None:
        # Asking for up to four further wishes found nothing better on recorded spaces.
        try:
            wish = self._wish(study, trial)
        except ImportError as error:  # some samplers of Optuna load their library only here
            name = type(self._sampler).__name__
            raise UsageError(f"sampler: {name}: {error}; install it with pip") from error
        near = None if wish is None else self._unvisited_near(wish, self._space)
        return near or self._unvisited.draw()

    def _wish(self, study: Study, trial: FrozenTrial) -> Config | None:
        joint = self._sampler.infer_relative_search_space(study, trial)
        asked = {name: choices for name, choices in self._open().items() if name in joint}
        wished: dict[str, Any] = self._sampler.sample_relative(study, trial, asked)
        if not wished and self._starts_evenly:
            return None
        space = self._wished_member(study, trial, wished)
        if space is None:
            return None
        for parameter in space.parameters:
            name = parameter.name
            if name in self._open() and name not in wished:
                wished[name] = self._sampler.sample_independent(
                    study, trial, name, self._open()[name]
                )
        return Config.of({p.name: _nearest(p, wished.get(p.name)) for p in space.parameters})

    def _wished_member(
        self, study: Study, trial: FrozenTrial, wished: dict[str, Any]
    ) -> FlatSpace | None:
        """Return a space of the wished family; None if it is outside of this space.

        Spaces of the same family take turns.
        """
        if isinstance(self._space, UnionSpace) and not self._family.single():
            if FAMILY not in wished:
                wished[FAMILY] = self._sampler.sample_independent(
                    study, trial, FAMILY, self._family
                )
            members: Sequence[FlatSpace] = self._space.of_family(wished[FAMILY])
        else:
            members = members_of(self._space)
        return members[trial.number % len(members)] if members else None

    def _open(self) -> dict[str, BaseDistribution]:
        """Return the parameters that the sampler may suggest."""
        known = {**self._distributions, **({FAMILY: self._family} if self.is_union else {})}
        return {name: choices for name, choices in known.items() if not choices.single()}


def tpe(space: ConfigSpace, seed: int = 0) -> FeasibleSampler:
    """Return Optuna's tree-structured Parzen estimator; the first ten configs are random ones."""
    return FeasibleSampler(space, optuna.samplers.TPESampler(seed=seed), seed, starts_evenly=True)


def _nearest(parameter: Parameter, wished: Value | float | None) -> Value:
    """Return a parameter's value that is nearest to a wish, by ratio if all are positive."""
    if wished is None:  # a parameter with a single value
        return parameter.values[0]
    if wished in parameter.values:
        return wished if isinstance(wished, str) else int(wished)
    # a value of another space's parameter with this name
    if isinstance(wished, str) or not parameter.is_number:
        return parameter.values[0]
    numbers = [value for value in parameter.values if isinstance(value, int)]
    if min((*numbers, wished)) >= 1:
        return min(numbers, key=lambda number: abs(math.log(number / wished)))
    return min(numbers, key=lambda number: abs(number - wished))
