"""`mltune search`: ask, run, tell until the budget is used, then measure the leaders again."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from mltune.errors import NoCorrectConfigError, UnsupportedError, UsageError
from mltune.kernel import KernelFamily
from mltune.kernel.families import FAMILIES
from mltune.problem import Contraction, Problem, problem_of_size, problem_type_name
from mltune.record import Measurement, Status
from mltune.record.database import file_url
from mltune.record.run import DATABASE_NAME, INFO_NAME, Run
from mltune.record.run_info import RunInfo
from mltune.runner import Runner
from mltune.runner.live import WorkerRunner
from mltune.search import SEARCHERS, Searcher
from mltune.space.load import load_space, parse_space
from mltune.space.space import Space
from mltune.workflow.options import (
    SearchOptions,
    check_options,
    check_resumed,
    default_folder,
    family_named,
    new_run_info,
    newest_run,
)
from mltune.workflow.progress import Progress
from mltune.workflow.trials import Trial, best_by_problem, group_trials, leaders

_PROBES = 64  # configs; a space whose family refuses that many is not for that family

Show = Callable[[Progress], None]
Note = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """What a search found.

    Attributes:
        best: the fastest measurement of every size, the re-measured ones first.
        seconds: wall time of this call.
        interrupted: whether it was stopped before its end.
    """

    run: Path
    info: RunInfo
    trials: int
    failed: int
    seconds: float
    best: tuple[Measurement, ...]
    interrupted: bool

    @property
    def problem(self) -> str:
        """The problem type's name."""
        return problem_type_name(self.info.contraction)

    @property
    def exit_code(self) -> int:
        """0, or 130 when it was interrupted."""
        return 130 if self.interrupted else 0

    @property
    def next_commands(self) -> tuple[str, ...]:
        """What the user would type next."""
        if self.interrupted:
            return (f"interrupted; go on with: mltune search --resume --run {self.run}",)
        return (f"next: mltune train {self.run}    or: mltune distil {self.run}",)

    def to_json(self) -> dict[str, Any]:
        """Return the document that `--json` prints."""
        return {
            "run": str(self.run),
            "device": self.info.device.name,
            "driver": self.info.device.driver_version,
            "problem": self.problem,
            "trials": self.trials,
            "failed": self.failed,
            "seconds": round(self.seconds, 3),
            "interrupted": self.interrupted,
            "best": [
                {
                    "sizes": list(best.problem.size),
                    "config": best.config.to_json(),
                    "kernel": best.kernel,
                    "seconds": best.median,
                    "gflops": best.gflops,
                }
                for best in self.best
            ],
        }


def search(options: SearchOptions, show: Show, note: Note) -> SearchResult:
    """Search the space of a run, new or resumed, and record every measurement.

    Ctrl-C ends it early, with what is known.

    Args:
        options: what was asked.
        show: is told about the progress after every trial.
        note: is told single lines, such as where the run lies.

    Raises:
        UsageError: when an option, a file or the folder is wrong.
        NoDeviceError: when there is no such device.
        NoCorrectConfigError: when every config failed.
        MltuneError: when something cannot be written.
    """
    started = time.monotonic()
    check_options(options)
    interrupted = False
    run, runner, space = _resume(options) if options.resume else _begin(options)
    with run:
        try:
            note(
                f"run {run.folder}: {problem_type_name(run.info.contraction)} on "
                f"{run.info.device.name}, {space.size:,} configs, {len(run.info.sizes)} sizes"
            )
            budget = run.info.budget if options.budget is None else options.budget
            session = _Session(run, runner, space, budget, show)
            session.search()
            session.measure_leaders()
        except KeyboardInterrupt:
            interrupted = True
        finally:
            runner.close()
        if not interrupted:  # whoever interrupts wants the prompt back; resuming catches up
            note("copying the trials into an Optuna study (for optuna-dashboard)")
            _mirror(run, space)
        measurements = run.store.measurements()
        trials = group_trials(m for m in measurements if m.phase == "search")
        best = best_by_problem(measurements)
        if not best and not interrupted:
            raise _nothing_right(trials, run.folder)
        return SearchResult(
            run=run.folder,
            info=run.info,
            trials=len(trials),
            failed=sum(trial.failure is not None for trial in trials),
            seconds=time.monotonic() - started,
            best=tuple(best[p] for p in problems_of(run.info) if p in best),
            interrupted=interrupted,
        )


def problems_of(info: RunInfo) -> tuple[Problem, ...]:
    """Return the problems of a run, one a size."""
    return tuple(
        problem_of_size(info.contraction, size.extents, info.alpha, info.beta)
        for size in info.sizes
    )


def _begin(options: SearchOptions) -> tuple[Run, Runner, Space]:
    if options.folder is not None and (options.folder / INFO_NAME).exists():
        raise UsageError(
            f"{options.folder}: holds a run already; go on with --resume, or give another --run"
        )
    # A mistake in the user's own file is told before a device is opened; which of the shipped
    # spaces is the default depends on the device.
    given = load_space(options.space) if options.space else None
    family = family_named(given.family, options.space or "") if given else FAMILIES["tiled"]
    runner = WorkerRunner(
        "auto" if options.device is None else options.device,
        family,
        **_runner_options(options),
        seed=options.seed or 0,
    )
    try:
        info = new_run_info(options, runner.device, family.name)
        space = _space(info)
        _check_family(family, info.contraction, space)
        run = Run.create(options.folder or default_folder(info), info, options.storage or "")
    except BaseException:
        runner.close()
        raise
    return run, runner, space


def _check_family(family: KernelFamily, contraction: Contraction, space: Space) -> None:
    """Refuse a problem type or a space that the family cannot write, before anything is made.

    A space may hold some configs that its family refuses; these fail one by one.
    """
    refusal = None
    for config in space.sample(np.random.default_rng(0), _PROBES):
        try:
            family.generate(contraction, config)
        except UnsupportedError:
            raise
        except UsageError as error:
            refusal = refusal or error
        else:
            return
    if refusal is not None:
        raise refusal


def _resume(options: SearchOptions) -> tuple[Run, Runner, Space]:
    run = Run.resume(options.folder or newest_run(), options.storage or "")
    try:
        info = run.info
        check_resumed(options, info, run.folder)
        runner = WorkerRunner(
            options.device or info.device.uuid or info.device.name,
            family_named(info.family, str(run.folder)),
            build_timeout_seconds=info.timing.build_timeout_seconds,
            run_timeout_seconds=info.timing.run_timeout_seconds,
            samples=info.timing.samples,
            seed=info.seed,
        )
    except BaseException:
        run.close()
        raise
    if runner.device.identity != info.device.identity:
        runner.close()
        run.close()
        raise UsageError(
            f"{run.folder}: was measured on {info.device.identity}, this is "
            f"{runner.device.identity}; begin another run"
        )
    return run, runner, _space(info)


def _runner_options(options: SearchOptions) -> dict[str, Any]:
    given = {
        "build_timeout_seconds": options.build_timeout_seconds,
        "run_timeout_seconds": options.run_timeout_seconds,
        "samples": options.samples,
    }
    return {name: value for name, value in given.items() if value is not None}


def _space(info: RunInfo) -> Space:
    names = {**info.device.limits(), "bytes": info.contraction.precision.bytes}
    return parse_space(info.space_text, info.space).bind(names)


class _Session:
    """One process's work on a run: trials up to the budget, then the cross-benchmark."""

    def __init__(self, run: Run, runner: Runner, space: Space, budget: int, show: Show) -> None:
        self._run = run
        self._runner = runner
        self._problems = problems_of(run.info)
        self._budget = budget
        self._show = show
        self._trials = list(group_trials(run.store.measurements("search")))
        self._searcher = SEARCHERS[run.info.sampler](space, run.info.seed)
        self._started = time.monotonic()
        self._new = 0

    def search(self) -> None:
        """Finish the trial that was cut off, if any, then ask for more."""
        self._show(self._progress())
        for position, trial in enumerate(self._trials):
            if trial.missing(self._problems):
                self._trials[position] = self._measure(trial)
            _tell(self._searcher, self._trials[position])
        while len(self._trials) < self._budget:
            config = self._searcher.ask()
            if config is None:
                return
            number = self._trials[-1].number + 1 if self._trials else 0
            trial = self._measure(Trial(number, config, ()))
            self._trials.append(trial)
            self._new += 1
            _tell(self._searcher, trial)
            self._show(self._progress())

    def measure_leaders(self) -> None:
        """Measure the leaders again on every size: the times that later stages rely on."""
        chosen = leaders(self._trials)
        done = {(m.problem, m.config) for m in self._run.store.measurements("final")}
        todo = [
            (problem, trial)
            for trial in chosen
            for problem in self._problems
            if (problem, trial.config) not in done
        ]
        started = time.monotonic()
        for number, (problem, trial) in enumerate(todo, start=1):
            self._record(problem, trial, "final")
            left = len(todo) - number
            seconds = (time.monotonic() - started) / number
            self._show(
                replace(
                    self._progress(),
                    phase="leaders",
                    done=number,
                    total=len(todo),
                    per_minute=None,
                    seconds_left=seconds * left if left else None,
                )
            )

    def _measure(self, trial: Trial) -> Trial:
        measurements = list(trial.measurements)
        for problem in trial.missing(self._problems):
            measurement = self._record(problem, trial, "search")
            measurements.append(measurement)
            if measurement.status is not Status.OK:
                break
        return Trial(trial.number, trial.config, tuple(measurements))

    def _record(self, problem: Problem, trial: Trial, phase: str) -> Measurement:
        measurement = self._runner.run(problem, trial.config)
        return self._run.store.add(replace(measurement, trial=trial.number, phase=phase))

    def _progress(self) -> Progress:
        speeds = [speed for trial in self._trials if (speed := trial.gflops) is not None]
        failures = Counter(
            failure.status.value
            for trial in self._trials
            if (failure := trial.failure) is not None
        )
        elapsed = time.monotonic() - self._started
        left = max(0, self._budget - len(self._trials))
        return Progress(
            phase="search",
            done=len(self._trials),
            total=max(self._budget, len(self._trials)),
            best_gflops=max(speeds, default=None),
            per_minute=60 * self._new / elapsed if self._new else None,
            seconds_left=elapsed / self._new * left if self._new and left else None,
            failures=tuple(failures.most_common()),
        )


def _tell(searcher: Searcher, trial: Trial) -> None:
    failure = trial.failure
    searcher.tell(trial.config, trial.value, failure.status if failure else Status.OK)


def _mirror(run: Run, space: Space) -> None:
    """Copy the trials into the run's database as an Optuna study, for `optuna-dashboard`."""
    if run.info.storage:
        return
    from mltune.search import study

    rows = _study_trials(group_trials(run.store.measurements("search")))
    url = file_url(run.folder / DATABASE_NAME).render_as_string()
    study.mirror(rows, space.parameters, url, run.folder.name)


def _study_trials(trials: Sequence[Trial]) -> Iterator[Any]:
    from mltune.search.study import Trial as StudyTrial

    for trial in trials:
        failure = trial.failure
        yield StudyTrial(
            number=trial.number,
            config=trial.config,
            value=trial.value,
            status=failure.status if failure else Status.OK,
            message=failure.message if failure else "",
        )


def _nothing_right(trials: Sequence[Trial], folder: Path) -> NoCorrectConfigError:
    failures = [failure for trial in trials if (failure := trial.failure) is not None]
    counts = Counter(failure.status.value for failure in failures)
    kinds = ", ".join(f"{count} {kind}" for kind, count in counts.most_common())
    first = f"; the first said: {failures[0].message}" if failures else ""
    return NoCorrectConfigError(
        f"{folder}: none of {len(trials)} configs was right ({kinds}{first})"
    )
