"""The Optuna study of a search: it makes the proposals and takes all results."""

from __future__ import annotations

import copy
import math
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import optuna
from optuna.distributions import BaseDistribution
from optuna.trial import FrozenTrial, TrialState

from mltune.measurement import Status
from mltune.search.distributions import distributions_of, family_distribution
from mltune.search.expected_gain import ExpectedGain
from mltune.search.sampler import SIZES, ConfigSampler, SpaceUsedUpError
from mltune.space.config import Config
from mltune.space.parameter import Parameter
from mltune.space.union import FAMILY
from mltune.tuning.mean import geometric_mean
from mltune.tuning.told_trial import ToldTrial
from mltune.tuning.trial import Trial

STATUS, MESSAGE, KERNEL = "status", "message", "kernel"
"""Attributes of a trial: its status, the reason of a failure, and the kernel's name."""

Listener = Callable[[int, FrozenTrial], None]
"""Called with a run's trial and its number, whenever it has changed."""

_MAKING = threading.Lock()


def make_study(**given: Any) -> optuna.Study:
    """Make or load a study without Optuna's line about it; all else that Optuna logs stays.

    Args:
        given: as `optuna.create_study` takes it.
    """
    with _MAKING:
        level = optuna.logging.get_verbosity()
        optuna.logging.set_verbosity(max(level, optuna.logging.WARNING))
        try:
            return optuna.create_study(**given)
        finally:
            optuna.logging.set_verbosity(level)


class Proposal:
    """A running trial of the study: a config, and its results so far."""

    def __init__(
        self,
        trial: optuna.Trial,
        config: Config,
        changed: Callable[[Proposal], None] = lambda proposal: None,
    ) -> None:
        self._trial = trial
        self._changed = changed
        self.config = config
        self.number = trial.number
        """In the study of this process, which counts its own trials."""

    @property
    def sizes(self) -> tuple[int, ...] | None:
        """The sizes worth timing, in order; None for all."""
        sizes = self._trial.user_attrs.get(SIZES)
        return None if sizes is None else tuple(sizes)

    def report(self, size: int, value: float) -> None:
        """Report the config's value on a size: Optuna's intermediate value at that step.

        A study of several objectives has no intermediate values, and prunes nothing.
        """
        if not self._has_several_objectives():
            self._trial.report(value, size)
        self._changed(self)

    def describe(self, attributes: Mapping[str, Any]) -> None:
        """Add attributes that a dashboard shows beside the trial."""
        for name, value in attributes.items():
            self._trial.set_user_attr(name, value)

    def should_prune(self) -> bool:
        """Whether the study's pruner wants no further sizes."""
        return not self._has_several_objectives() and self._trial.should_prune()

    def _has_several_objectives(self) -> bool:
        return len(self._trial.study.directions) > 1


class TuningStudy:
    """Asks a study for configs and tells it the results; no other code does.

    Numbers of trials are the study's own; a run that several processes share has its own numbers,
    and `number` of a listener is the run's.

    Args:
        study: an Optuna study of one objective, whose sampler is a `ConfigSampler`.
        sizes: number of sizes of a config; a trial that was timed on fewer is pruned.
        families: the kernel families of the run.
        family_of: returns the family of a config.
        given: configs that take turns with the sampler's, such as hand-written kernels; the
            sampler learns their results.
        others: parameters of those.
        first: configs that come before all others, timed on all sizes.
    """

    def __init__(
        self,
        study: optuna.Study,
        sizes: int,
        families: Sequence[str],
        family_of: Callable[[Config], str],
        given: Iterable[Config] = (),
        others: Sequence[Parameter] = (),
        first: Sequence[Config] = (),
    ) -> None:
        sampler = study.sampler
        if not isinstance(sampler, ConfigSampler):
            raise TypeError(f"study '{study.study_name}': its sampler is no ConfigSampler")
        if others:
            sampler.widen(others)
        self._study = study
        self._sampler = sampler
        self._sizes = sizes
        self._family_of = family_of
        self._family = family_distribution(families)
        self._others = distributions_of(others)
        self._given = tuple(given)
        self._first = tuple(first)
        self._configs: set[Config] = set()
        self._listener: Listener = lambda number, trial: None
        self._run_numbers: dict[int, int] = {}
        self._elsewhere: dict[Config, int] = {}
        """The trials that other processes have begun, by their ids in the storage."""
        self._asking = threading.Lock()
        self._whole = 0
        self._log_sums: dict[int, float] = defaultdict(float)
        """Sums of logs, and their numbers, of the trials that were timed on all sizes."""

    @property
    def study(self) -> optuna.Study:
        """The Optuna study itself."""
        return self._study

    def prepare(self) -> None:
        """Let the sampler compute everything that depends on no answer, in a thread of its own."""
        self._sampler.prepare()

    def listen(self, listener: Listener) -> None:
        """Call a listener at every change of a trial, on the thread that makes it."""
        self._listener = listener

    def ask(self) -> Proposal | None:
        """Return the next proposal; None when all have been made.

        The first ones come before all; then given configs and the sampler's alternate.
        """
        for config in self._first:
            if config not in self._configs:
                return self.take(config)
        proposal = None
        given = next((config for config in self._given if config not in self._configs), None)
        if given is None or not self._is_given_turn():
            proposal = self._ask_sampler()
        return self.take(given) if proposal is None and given is not None else proposal

    def _is_given_turn(self) -> bool:
        """Whether no more given configs than others were tried, besides the first ones."""
        given = sum(config in self._configs for config in self._given)
        first = sum(config in self._configs for config in self._first)
        return 2 * given <= len(self._configs) - first

    def _ask_sampler(self) -> Proposal | None:
        distributions = self._sampler.distributions
        while True:
            with self._asking:
                try:
                    trial, config = self._sampler.begin(self._study, self._family)
                except SpaceUsedUpError as error:
                    # Not the last trial, as others may have been added meanwhile.
                    self._study.tell(error.trial, state=TrialState.PRUNED)
                    return None
            proposal = Proposal(trial, config, self._tell_listener)
            if config not in self._configs:
                self._configs.add(config)
                return proposal
            # Another process has begun it meanwhile; the sampler will know at the next call.
            self.drop(proposal)
            if all(one.single() for one in distributions.values()):
                return None  # Optuna asks no sampler if there is a single config

    def take(self, config: Config) -> Proposal:
        """Begin a trial with a given config.

        Optuna's queue of such trials is not used, as the user may have put trials there.
        """
        is_first = config in self._first
        with self._asking:
            sizes = None if is_first else self._sampler.worthwhile(self._study, config)
            trial = optuna.Trial(self._study, self._add(self.running(config)))
        if sizes is not None:
            trial.set_user_attr(SIZES, list(sizes))
        self._configs.add(config)
        return Proposal(trial, config, self._tell_listener)

    def begin(self, proposal: Proposal, number: int) -> None:
        """Assign a proposal to a trial of the run."""
        self._run_numbers[proposal.number] = number
        self._tell_listener(proposal)

    def tell(self, proposal: Proposal, trial: Trial, values: Mapping[int, float]) -> FrozenTrial:
        """Tell the study the end of a trial; its values were reported before.

        Args:
            proposal: that was tried.
            trial: with its measurements.
            values: by size, of a trial that did not fail.
        """
        proposal.describe(attributes_of(trial))
        number = proposal.number
        if trial.failure is not None:
            frozen = self._study.tell(number, state=TrialState.FAIL)
        elif len(values) == self._sizes:
            frozen = self._study.tell(number, geometric_mean(values.values()))
        else:
            frozen = self._study.tell(number, state=TrialState.PRUNED)
        self._count(frozen)
        self._listener(self._run_numbers.pop(number), self.with_estimate(frozen))
        return frozen

    def drop(self, proposal: Proposal) -> None:
        """Withdraw a proposal whose result will stay unknown."""
        self._run_numbers.pop(proposal.number, None)
        self._study.tell(proposal.number, state=TrialState.PRUNED)

    def ended_configs(self) -> frozenset[Config]:
        """The configs of all ended trials, also those of earlier sessions in a storage."""
        trials = self._study.get_trials(deepcopy=False)
        return frozenset(
            self._sampler.config_of(trial.params)
            for trial in trials
            if trial.state.is_finished() and STATUS in trial.user_attrs
        )

    def learn(self, trial: FrozenTrial, *, is_held: bool = False) -> FrozenTrial:
        """Add a trial that ended earlier or elsewhere, the next in the order of their ends.

        Args:
            trial: from `frozen`.
            is_held: whether the study has it already.

        Returns:
            The trial in the form of a listener's call.
        """
        config = self._sampler.config_of(trial.params)
        self._configs.add(config)
        running = self._elsewhere.pop(config, None)
        if running is not None:
            self._end(running, trial)
        elif not is_held:
            self._add(trial)
        self._count(trial)
        return self.with_estimate(trial)

    def note_running(self, config: Config) -> None:
        """Add a trial that another process has begun."""
        self._configs.add(config)
        self._elsewhere[config] = self._add(self.running(config))

    def _add(self, trial: FrozenTrial) -> int:
        """Add a trial that was made here; `Study.add_trial` would check all of it again."""
        return self._study._storage.create_new_trial(self._study._study_id, trial)

    def _end(self, running: int, trial: FrozenTrial) -> None:
        """End a noted trial, which Optuna's ask and tell can only do for their own trials."""
        storage = self._study._storage
        for step, value in trial.intermediate_values.items():
            storage.set_trial_intermediate_value(running, step, value)
        for key, attribute in trial.user_attrs.items():
            storage.set_trial_user_attr(running, key, attribute)
        storage.set_trial_state_values(running, trial.state, trial.values)

    def running(self, config: Config) -> FrozenTrial:
        """Return a running trial, in the form that `take` gives it."""
        return self._told(config, TrialState.RUNNING)

    def frozen(
        self,
        config: Config,
        values: Mapping[int, float],
        status: Status,
        attributes: Mapping[str, Any] | None = None,
    ) -> FrozenTrial:
        """Return an ended trial, in the form that `tell` gives it."""
        failed = status is not Status.OK
        whole = not failed and len(values) == self._sizes
        state = TrialState.FAIL if failed else TrialState.COMPLETE if whole else TrialState.PRUNED
        value = geometric_mean(values.values()) if whole else None
        if state == TrialState.PRUNED and values:
            value = values[max(values)]  # as `Study.tell`
        return self._told(
            config, state, value, values, {STATUS: status.value, **(attributes or {})}
        )

    def expected_gain(self, trials: int) -> ExpectedGain | None:
        """Return the expected gain of a number of further trials; None if unknown."""
        with self._asking:
            return self._sampler.expected_gain(self._study, trials)

    def _tell_listener(self, proposal: Proposal) -> None:
        run_number = self._run_numbers.get(proposal.number)
        if run_number is not None:
            self._listener(run_number, self._frozen(proposal.number))

    def with_estimate(self, trial: FrozenTrial) -> FrozenTrial:
        """Give a pruned trial an estimate of its value on all sizes, for a listener.

        On its other sizes it is assumed to do as well as on the timed ones, relative to the trials
        that were timed on all sizes.
        """
        if trial.state != TrialState.PRUNED:
            return trial
        shown = copy.copy(trial)
        shown.values = None
        logs = {size: math.log(value) for size, value in trial.intermediate_values.items()}
        if logs and self._whole:
            typical = {size: total / self._whole for size, total in self._log_sums.items()}
            gain = math.fsum(log - typical[size] for size, log in logs.items()) / len(logs)
            level = math.fsum(typical.values()) / len(typical)
            shown.values = [math.exp(level + gain)]
        return shown

    def _count(self, trial: FrozenTrial) -> None:
        """Add a trial that was timed on all sizes to the means of the sizes."""
        values = trial.intermediate_values
        if trial.state == TrialState.COMPLETE and len(values) == self._sizes:
            self._whole += 1
            for size, value in values.items():
                self._log_sums[size] += math.log(value)

    def _frozen(self, number: int) -> FrozenTrial:
        return self._study.get_trials(deepcopy=False)[number]

    def _told(
        self,
        config: Config,
        state: TrialState,
        value: float | None = None,
        values: Mapping[int, float] | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> ToldTrial:
        params = {FAMILY: self._family_of(config), **config.to_json()}
        distributions = self._distributions(config)
        return ToldTrial(state, value, params, distributions, values or {}, attributes or {})

    def _distributions(self, config: Config) -> dict[str, BaseDistribution]:
        known = {**self._others, **self._sampler.distributions}
        return {FAMILY: self._family, **{name: known[name] for name in config if name != FAMILY}}


def attributes_of(trial: Trial) -> dict[str, Any]:
    """Return a trial's status and reason, for the readers of its study."""
    failure = trial.failure
    kernels = [row.kernel for row in trial.measurements if row.kernel]
    return {
        STATUS: trial.status.value,
        **({MESSAGE: failure.message} if failure and failure.message else {}),
        **({KERNEL: kernels[0]} if kernels else {}),
    }
