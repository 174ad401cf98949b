"""Optuna's TPE over the feasible configs of a space.

The sampler knows neither constraints nor what was tried, so its proposal is a wish: the study
holds only configs that were really handed out, and where a wish cannot be granted, the nearest
config that can takes its place. A wish costs no budget.
"""

from __future__ import annotations

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.trial import TrialState, create_trial

from mltune.record.measurement import Status
from mltune.search.searcher import check_answer
from mltune.search.unseen import UnseenConfigs
from mltune.space.config import Config
from mltune.space.config_space import ConfigSpace

_NEAREST = 64


class TpeSearcher:
    """Proposes configs with a tree-structured Parzen estimator; a `Searcher`.

    It starts with random configs, until ten of them have worked.

    Args:
        seed: decides every proposal, given the answers.
    """

    def __init__(self, space: ConfigSpace, seed: int) -> None:
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._space = space
        self._unseen = UnseenConfigs(space, seed)
        self._sampler = optuna.samplers.TPESampler(seed=seed)
        self._study = optuna.create_study(sampler=self._sampler)
        # By number, so that every value is a word to the sampler: on the recorded spaces of two
        # GPUs this was quicker than steps along the numbers, and found better configs.
        self._distributions: dict[str, BaseDistribution] = {
            p.name: CategoricalDistribution(range(len(p.values))) for p in space.parameters
        }
        self._open = {
            name: choices for name, choices in self._distributions.items() if not choices.single()
        }
        # The sampler samples for a trial. This one stays open and never gets a value.
        self._wishing = self._study.ask().number
        self._trials: dict[Config, int] = {}

    def ask(self) -> Config | None:
        """Return the next config."""
        config = self._granted_wish() or self._unseen.draw()
        if config is not None:
            self._unseen.see(config)
            self._add(config, TrialState.RUNNING, None)
        return config

    def avoid(self, config: Config) -> None:
        """Take a config for one that was asked for here."""
        if config in self._unseen:
            self._unseen.see(config)
            self._add(config, TrialState.RUNNING, None)

    def tell(self, config: Config, value: float | None, status: Status) -> None:
        """Tell the study; a failure becomes a failed trial."""
        check_answer(value, status)
        state = TrialState.COMPLETE if status is Status.OK else TrialState.FAIL
        if config in self._trials:
            self._study.tell(self._trials[config], value, state, skip_if_finished=True)
        elif config in self._unseen:
            self._unseen.see(config)
            self._add(config, state, value)

    def _granted_wish(self) -> Config | None:
        """Return what the sampler wants or the nearest unseen config; None without a wish."""
        # Asking again, up to four times, found nothing better and took as many times longer.
        wish = self._wish()
        if wish is None or wish in self._unseen:
            return wish
        nearest = self._space.near(wish, _NEAREST)
        return next((config for config in nearest if config in self._unseen), None)

    def _wish(self) -> Config | None:
        trial = self._study.get_trials(deepcopy=False)[self._wishing]
        ranks = self._sampler.sample_relative(self._study, trial, self._open)
        if not ranks:
            return None
        return Config.of({p.name: p.values[ranks.get(p.name, 0)] for p in self._space.parameters})

    def _add(self, config: Config, state: TrialState, value: float | None) -> None:
        ranks = {p.name: p.values.index(config[p.name]) for p in self._space.parameters}
        self._trials[config] = len(self._study.get_trials(deepcopy=False))
        self._study.add_trial(
            create_trial(
                state=state,
                value=value,
                params=ranks,
                distributions=self._distributions,
                user_attrs={"config": config.id},
            )
        )
