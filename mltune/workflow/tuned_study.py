"""An Optuna study over an objective, whose `optimize` is a full search."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any

import optuna
from optuna.trial import FrozenTrial, TrialState

from mltune.errors import UsageError
from mltune.run.database import DATABASE_NAME, file_url
from mltune.run.run_info import RunInfo
from mltune.search.expected_gain import ExpectedGain
from mltune.search.make import made_feasible
from mltune.search.planned_sizes import PlannedSizesPruner
from mltune.tuning.local_tuning import LocalTuning
from mltune.tuning.progress import Progress, Show, ignore_progress
from mltune.tuning.queue import Job
from mltune.tuning.search_options import trials_asked
from mltune.tuning.study import make_study
from mltune.tuning.study_writer import StudyWriter
from mltune.tuning.trial import Trial
from mltune.workflow.objective import Objective
from mltune.workflow.run_setup import open_writer, sampler_of, study_attributes, tuning_study

Callback = Callable[[optuna.Study, FrozenTrial], None]


def create_study(
    objective: Objective,
    *,
    sampler: optuna.samplers.BaseSampler | None = None,
    pruner: optuna.pruners.BasePruner | None = None,
    storage: str | optuna.storages.BaseStorage | None = None,
    study_name: str | None = None,
) -> TunedStudy:
    """Make a study that minimises an objective.

    Args:
        objective: the objective.
        sampler: any sampler of Optuna; its proposals are made feasible and new (default: the
            run's sampler, which is `GuidedSampler` unless the objective names another).
        pruner: decides before each further size whether to time it (default: by the plan of
            `GuidedSampler`).
        storage: as in Optuna. By default the study is in memory, has the run's trials, and is
            written to the run's `run.db` within some seconds.
        study_name: the study's name (default: the run folder's name).

    Raises:
        UsageError: when an argument has a wrong type, the objective is closed, the run's sampler
            does not exist, the run is shared, or the storage has another study of that name.
    """
    for what, given, kind in (
        ("objective", objective, Objective),
        ("sampler", sampler, optuna.samplers.BaseSampler),
        ("pruner", pruner, optuna.pruners.BasePruner),
    ):
        if not isinstance(given, kind) and (given is not None or kind is Objective):
            raise UsageError(f"create_study: {what} must be of {kind.__name__}, got {given!r}")
    objective.check_open()
    info = objective.info
    if objective.run.url is not None:
        raise UsageError(
            f"{objective.run.folder}: is shared (storage=), which needs mltune.search; a study "
            "is for one process"
        )
    if sampler is None:
        sampler = sampler_of(info, objective.space, info.seed, objective.note)
    else:
        info = replace(info, sampler=type(sampler).__name__)
        sampler = made_feasible(objective.space, sampler, info.seed)
    name = study_name or objective.run.folder.name
    made = make_study(
        study_name=name, storage=storage, sampler=sampler, load_if_exists=storage is not None
    )
    pruner = pruner or PlannedSizesPruner()
    study = TunedStudy(study_name=name, storage=made._storage, sampler=sampler, pruner=pruner)
    if storage is not None:
        _take_up(study, info)
    url = file_url(objective.run.folder / DATABASE_NAME)
    open_shown = partial(open_writer, info, url, objective.run.folder.name)
    study.bind(objective, open_shown if storage is None else None)
    return study


def _take_up(study: optuna.Study, info: RunInfo) -> None:
    """Mark a storage's study with its run, and end trials that were cut off."""
    held = study.get_trials(deepcopy=False)
    owner = study.user_attrs.get("run")
    if owner != info.id and (owner is not None or held):
        raise UsageError(
            f"study '{study.study_name}': holds trials of {owner or 'something else'}, not of "
            f"{info.id}; give another study_name"
        )
    for name, value in study_attributes(info).items():
        study.set_user_attr(name, value)
    for trial in held:
        if trial.state == TrialState.RUNNING:
            # Its result is unknown, and a failure would mislead the sampler.
            study.tell(trial.number, state=TrialState.PRUNED)


class TunedStudy(optuna.Study):
    """A study whose `optimize`, given its objective, builds ahead and ends as `search` does."""

    def bind(self, objective: Objective, open_shown: Callable[[], StudyWriter] | None) -> None:
        """Use an objective, and learn from the measurements of its run."""
        self._objective = objective
        self._tuning = tuning_study(self, objective.info, objective.space)
        self.tuning = LocalTuning(
            objective.run, objective.runner, self._tuning, objective.session, open_shown
        )

    def optimize(
        self,
        func: Callable[[optuna.Trial], Any],
        n_trials: int | None = None,
        timeout: float | None = None,
        n_jobs: int = 1,
        catch: Iterable[type[Exception]] | type[Exception] = (),
        callbacks: Iterable[Callback] | None = None,
        gc_after_trial: bool = False,
        show_progress_bar: bool = False,
    ) -> None:
        """Search; with the study's own objective, build ahead and time the leaders at the end.

        Any other function runs in Optuna's own loop. For the arguments see
        `optuna.Study.optimize`. One device measures one trial at a time, so `n_jobs` is 1.
        Budget and time limit that are left out are the objective's; so is the patience.

        Raises:
            UsageError: when `n_jobs` is another number, or the objective is closed.
            DeviceGoneError: when the device can no longer be used.
        """
        if func is not self._objective:
            super().optimize(
                func,
                n_trials,
                timeout,
                n_jobs,
                catch,
                callbacks,
                gc_after_trial,
                show_progress_bar,
            )
            return
        if n_jobs != 1:
            raise UsageError(
                f"optimize: one device measures one trial at a time, got n_jobs={n_jobs}"
            )
        called = tuple(callbacks or ())

        def after_trial(job: Job, trial: Trial) -> None:
            if called and job.proposal is not None:
                frozen = self.get_trials(deepcopy=False)[job.proposal.number]
                for callback in called:
                    callback(self, frozen)

        options = self._objective.options
        limit = options.time_limit_seconds if timeout is None else timeout
        with ExitStack() as stack:
            stack.enter_context(self._objective.measuring)
            self._objective.check_open()
            self.tuning.catch_up()
            budget = trials_asked(options, self._objective.info)
            if n_trials is not None:
                budget = self.tuning.trials + n_trials
            show = stack.enter_context(Bar()) if show_progress_bar else ignore_progress
            stack.callback(self._objective.note_numbers)
            self.tuning.search(
                budget, limit, patience=options.patience, show=show, after_trial=after_trial
            )
            self.tuning.measure_leaders(show)

    def expected_gain(self, trials: int) -> ExpectedGain | None:
        """Return the expected gain of so many further trials; None if unknown."""
        return self._tuning.expected_gain(trials)

    def stop(self) -> None:
        """End `optimize` after the current trial."""
        if self._thread_local.in_optimize_loop:  # Optuna's own loop, with another function
            super().stop()
        else:
            self.tuning.stop()


class Bar:
    """A progress bar like Optuna's, for notebooks and terminals."""

    def __enter__(self) -> Show:
        from tqdm.auto import tqdm

        self._bar = tqdm(unit="trial")
        return self._show

    def __exit__(self, *_: object) -> None:
        self._bar.close()

    def _show(self, progress: Progress) -> None:
        self._bar.set_description(progress.phase, refresh=False)
        self._bar.total, self._bar.n = progress.total, progress.done
        if progress.best_gflops is not None:
            self._bar.set_postfix_str(f"best {progress.best_gflops:,.1f} GFLOP/s", refresh=False)
        self._bar.refresh()
