"""The objective of a search, in Optuna's sense: a config's time on the sizes of a run."""

from __future__ import annotations

import math
import os
import threading
import weakref
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from mltune.errors import UsageError
from mltune.kernel.handwritten.read import read_files, to_text
from mltune.problem import Problem
from mltune.run.run import INFO_NAME, Run
from mltune.run.run_info import TIME, RunInfo, SearchedSpace
from mltune.runner.live import WorkerRunner
from mltune.runner.opening import Opening
from mltune.search.names import is_own
from mltune.space.config import Config
from mltune.space.space import Space
from mltune.space.union import FAMILY, UnionSpace, members_of, with_family
from mltune.tuning.families import NamedFamilies, family_of_run
from mltune.tuning.new_run import default_folder, handwritten_space, new_run_info, timing_of
from mltune.tuning.recorder import AtOnce, from_records
from mltune.tuning.resumed_run import added_sizes, check_resumed, newest_run
from mltune.tuning.search_options import (
    DEFAULT_SAMPLER,
    NO_PATIENCE,
    SHIPPED_PRIORS,
    GivenSizes,
    SearchOptions,
    asked_contraction,
    asked_priors,
    asked_spaces,
    check_options,
    options_of,
)
from mltune.tuning.session import MeasurementSession
from mltune.tuning.trial import Trial
from mltune.workflow.chosen_spaces import (
    SearchSpace,
    bound_space,
    check_families,
    check_spaces,
    choose_spaces,
)
from mltune.workflow.run_setup import Note, open_runner, reopened, sampler_of
from mltune.workflow.shipped_priors import default_priors, describe

if TYPE_CHECKING:
    import optuna


NO_FAMILY = NamedFamilies({})
"""Of a runner before the searched spaces are known."""


def ignore_note(line: str) -> None:
    """Ignore a note."""


class Objective:
    """A config's time on the sizes of a run; owns the device, the space and the run folder.

    Call it with a trial of your own study, or pass it to `optimize` of a study of `create_study`,
    which also builds kernels ahead and times the best configs again at the end. Every measurement
    is stored in the run folder at once. Close the objective at the end, or use it as a context
    manager. Threads may share it; they measure one after the other.

    Args:
        problem: a problem type, such as `sgemm_nn`.
        sizes: as for `--sizes`, or a list such as `[(64, 64, 64)]` (default: a suite for the
            kind of device).
        device: as for `--device`.
        note: called with notes of one line, such as warnings about a file.
        options: further options of `mltune search`, by the names of `SearchOptions`: `space`,
            `seed`, `folder`, `resume`, `samples`, `builders` and so on.

    Raises:
        UsageError: when an option, a file or the folder is wrong.
        NoDeviceError: when there is no such device.
        MltuneError: when the run folder cannot be written.
    """

    def __init__(
        self,
        problem: str | None = None,
        sizes: GivenSizes | None = None,
        device: str | None = None,
        *,
        note: Note = ignore_note,
        **options: Any,
    ) -> None:
        if compare := options.get("compare"):  # at the end of a search, which it does not know
            raise UsageError(f"Objective: compare: only mltune.search compares, got {compare!r}")
        named = {"problem": problem, "sizes": sizes, "device": device}
        self._open(options_of(SearchOptions, "Objective", named | options), note)

    @classmethod
    def of(
        cls, options: SearchOptions, note: Note = ignore_note, opening: Opening | None = None
    ) -> Self:
        """Begin or resume a search with these options; raises what the class raises."""
        objective = cls.__new__(cls)
        objective._open(options, note, opening)
        return objective

    def _open(self, options: SearchOptions, note: Note, opening: Opening | None = None) -> None:
        check_options(options)
        self.note = note
        self.options = options
        # The worker gives one answer at a time. A callback of `optimize` may measure, too.
        self.measuring = threading.RLock()
        begin = _resume if options.resume else _begin
        self.run, self.runner, self.space = begin(options, opening)
        # A notebook that runs a cell again loses an objective without closing it.
        self._process = os.getpid()
        self._release = weakref.finalize(self, _release, self.runner, self.run, self._process)
        self._release.atexit = False
        if shipped := describe(self.info.priors):
            note(shipped)
        before = from_records(self.info, self.run.store.measurements())
        self.session = MeasurementSession(self.runner, self.info.objective, before)
        self._used: set[int | None] = {row.trial for row in before}

    @property
    def info(self) -> RunInfo:
        """The options of the run."""
        return self.run.info

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The problems of the search; a problem's index is its step in a study."""
        return self.info.problems

    def __call__(self, trial: optuna.Trial) -> float:
        """Measure the config that a trial of a study proposes.

        Returns:
            The geometric mean of its times over all sizes, in seconds; NaN if it failed.

        Raises:
            optuna.TrialPruned: when the study's pruner stops the trial before all sizes are timed,
                or every config has been tried, which also ends the study's loop.
            UsageError: when the objective is closed or another process's, or the trial is not a
                running one.
            DeviceGoneError: when the device can no longer be used.
        """
        import optuna

        from mltune.search.sampler import SpaceUsedUpError

        if not isinstance(trial, optuna.Trial):
            raise UsageError(
                f"Objective: needs a running trial of a study, got {type(trial).__name__}; "
                "study.enqueue_trial(trial.params) tries its parameters again"
            )
        with self.measuring:
            self.check_open()  # here, as another thread may have closed it meanwhile
            try:
                return self._measure(trial)
            except SpaceUsedUpError as error:
                if not trial.study._thread_local.in_optimize_loop:
                    raise
                trial.study.stop()
                raise optuna.TrialPruned(str(error)) from error

    def _measure(self, trial: optuna.Trial) -> float:
        import optuna

        from mltune.search.distributions import distributions_of, suggest
        from mltune.search.sampler import ConfigSampler
        from mltune.tuning.mean import geometric_mean
        from mltune.tuning.measure import measure_trial
        from mltune.tuning.proposal_queue import in_order
        from mltune.tuning.queue import Job
        from mltune.tuning.study import Proposal, attributes_of

        sampler = trial.study.sampler
        family = trial.suggest_categorical(FAMILY, self.info.families)
        if isinstance(sampler, ConfigSampler):
            config = sampler.suggest_config(trial)
        else:
            space = next(each for each in members_of(self.space) if each.family == family)
            known = distributions_of(self.space.parameters)
            names = [each.name for each in space.parameters if each.name in known]
            chosen = {name: suggest(trial, name, known[name]) for name in names}
            config = Config.of(chosen)
            config = with_family(config, family) if self.info.spaces else config
        proposal = Proposal(trial, config)
        number = next(n for n in range(trial.number, 2**31) if n not in self._used)
        self._used.add(number)
        job = Job(
            trial=Trial(number, config, ()),
            problems=in_order(self.problems, proposal.sizes),
            proposal=proposal,
        )
        steps = {problem: step for step, problem in enumerate(self.problems)}
        done = measure_trial(job, self.session, AtOnce(self.run.database.add), steps)
        proposal.describe(attributes_of(done))
        if done.failure is not None:
            return math.nan
        values = done.values_by(self.problems, self.session.told_value)
        if len(values) < len(self.problems):
            raise optuna.TrialPruned
        return geometric_mean(values.values())

    def check_open(self) -> None:
        """Refuse to measure with a closed objective, or a fork's copy of one.

        Raises:
            UsageError: when it is either.
        """
        if os.getpid() != self._process:
            raise UsageError(
                f"Objective: belongs to process {self._process}, whose worker gives one answer at "
                "a time; make one in each process, with a folder of its own"
            )
        if not self._release.alive:
            raise UsageError(
                f"Objective: is closed; Objective(folder={str(self.run.folder)!r}, resume=True) "
                "opens its run again"
            )

    def note_numbers(self) -> None:
        """Record the numbers of trials that a search has assigned."""
        self._used.update(row.trial for row in self.run.store.measurements())

    def close(self) -> None:
        """Release the device and the run folder; a second call does nothing."""
        self._release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _release(runner: WorkerRunner, run: Run, process: int) -> None:
    if os.getpid() == process:  # a fork has a copy of the objective, but no worker of its own
        runner.close()
        run.close()


def _begin(
    options: SearchOptions, opening: Opening | None
) -> tuple[Run, WorkerRunner, SearchSpace]:
    if options.folder is not None and (options.folder / INFO_NAME).exists():
        raise UsageError(
            f"{options.folder}: holds a run already; continue with --resume, or give another --run"
        )
    # Mistakes in the user's own files are reported before a device is opened; the spaces of `auto`
    # depend on the device.
    kernels = read_files(options.kernels)
    is_written = bool(kernels) and options.space is None
    names = asked_spaces(options)
    contraction = asked_contraction(options, kernels)
    texts = to_text(kernels) if kernels else ""
    check_spaces(names, texts)
    runner = open_runner(
        "auto" if options.device is None else options.device,
        NO_FAMILY,
        (contraction.precision,),
        timing_of(options),
        seed=options.seed or 0,
        observers=options.observers or (),
        builders=options.builders,
        rest_seconds=options.rest_seconds or 0,
        opening=opening,
        waits=False,  # the spaces are read while the device is being opened
    )
    try:
        bound: dict[SearchedSpace, Space] = {}
        if not is_written:
            bound = choose_spaces(names, runner.device, contraction, texts)
        spaces = tuple(bound) or (handwritten_space(kernels),)
        info = new_run_info(options, runner.device, spaces, kernels)
        runner.write_with(family_of_run(info, "search"))
        if info.spaces:
            space: SearchSpace = UnionSpace(info.space, tuple(bound.values()))
        else:
            space = bound_space(info)
            check_families(info, space)
        wants_shipped = options.priors == () or SHIPPED_PRIORS in options.priors
        if wants_shipped and info.sampler == DEFAULT_SAMPLER and info.objective == TIME:
            info = replace(info, priors=(*info.priors, *default_priors(info, space)))
        if is_own(info.sampler) or asked_priors(options.priors):
            # Arguments or records may be refused; that is reported before a folder is made.
            sampler_of(info, space, info.seed, ignore_note)
        runner.await_proof()
        run = Run.create(options.folder or default_folder(info), info, options.storage or "")
    except BaseException:
        runner.close()
        raise
    return run, runner, space


def _resume(
    options: SearchOptions, opening: Opening | None
) -> tuple[Run, WorkerRunner, SearchSpace]:
    run = Run.resume(options.folder or newest_run(), options.storage or "")
    try:
        info = run.info
        check_resumed(options, info, run.folder)
        if new := added_sizes(options, info, run.folder):
            run.add_cross_sizes(new)
            info = run.info
        if run.url is not None and options.patience is not None:
            raise UsageError(f"{run.folder}: {NO_PATIENCE}")
        open_device = partial(
            open_runner,
            family=family_of_run(info, str(run.folder)),
            precisions=(info.contraction.precision,),
            timing=info.timing,
            seed=info.seed,
            observers=info.observers,
            builders=options.builders,
            rest_seconds=options.rest_seconds or 0,
            opening=opening,
        )
        runner = reopened(info.device, options.device, run.folder, open_device)
    except BaseException:
        run.close()
        raise
    return run, runner, bound_space(info)
