"""`mltune search`: ask, run, tell until the budget is used, then measure the leaders again."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mltune.errors import (
    DeviceGoneError,
    MltuneError,
    NoCorrectConfigError,
    UnsupportedError,
    UsageError,
)
from mltune.kernel import KernelFamily
from mltune.kernel.handwritten.family import NAME as HANDWRITTEN
from mltune.kernel.handwritten.read import read_files, read_kept, to_text
from mltune.kernel.handwritten.space import space_text
from mltune.problem import Contraction, problem_type_name
from mltune.record import Measurement, Status
from mltune.record.database import file_url
from mltune.record.effort import Effort
from mltune.record.run import DATABASE_NAME, INFO_NAME, Run
from mltune.record.run_info import RunInfo
from mltune.runner.live import WorkerRunner
from mltune.search import Searcher
from mltune.search.alternating import AlternatingSearcher
from mltune.search.outlook import Outlook
from mltune.space.load import load_space, parse_space
from mltune.space.names import outside_names
from mltune.space.space import Space
from mltune.workflow.ending import Ending, outlook_of, outlook_to_json
from mltune.workflow.families import family_named
from mltune.workflow.finale import SIDELINED, Choice, choose
from mltune.workflow.options import (
    COLD,
    SearchOptions,
    check_options,
    check_resumed,
    default_folder,
    new_run_info,
    newest_run,
)
from mltune.workflow.recorded_search import new_searcher
from mltune.workflow.recordings import read_any
from mltune.workflow.session import Session, Show
from mltune.workflow.trials import Trial, group_trials

_PROBES = 64  # configs; a space whose family refuses that many is not for that family

Note = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """What a search found.

    Attributes:
        choices: for every size the config that was chosen, and those as good.
        seconds: wall time of this call.
        interrupted: whether it was stopped before its end.
        stopped: why it ended before its end by itself; empty if it did not.
        disturbed: rounds of the leaders that were measured again, as something slowed them down.
        measured_while_building: the share of the builders' time in which the device measured.
        ending: what ended the trials.
        effort: where the budget went.
        outlook: what further trials are expected to bring; None where nobody can tell.
    """

    run: Path
    info: RunInfo
    trials: int
    failed: int
    seconds: float
    choices: tuple[Choice, ...]
    interrupted: bool
    stopped: str = ""
    disturbed: int = 0
    measured_while_building: float | None = None
    ending: Ending
    effort: Effort
    outlook: Outlook | None = None

    @property
    def best(self) -> tuple[Measurement, ...]:
        """The chosen config's measurement of every size."""
        return tuple(choice.best for choice in self.choices)

    @property
    def problem(self) -> str:
        """The problem type's name."""
        return problem_type_name(self.info.contraction)

    @property
    def exit_code(self) -> int:
        """0, 130 when it was interrupted, or 4 when the device was lost."""
        return 130 if self.interrupted else 4 if self.stopped else 0

    @property
    def next_commands(self) -> tuple[str, ...]:
        """What the user would type next."""
        if self.interrupted or self.stopped:
            reason = self.stopped or "interrupted"
            return (f"{reason}; go on with: mltune search --resume --run {self.run}",)
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
            "stopped": self.stopped,
            "disturbed": self.disturbed,
            "measured_while_building": self.measured_while_building,
            "ending": self.ending.value,
            "outlook": outlook_to_json(self.outlook),
            "effort": self.effort.to_json(),
            "best": [
                {
                    "sizes": list(choice.best.problem.size),
                    "config": choice.best.config.to_json(),
                    "kernel": choice.best.kernel,
                    "seconds": choice.best.median,
                    "gflops": choice.best.gflops,
                    "equals": [one.kernel for one in choice.equals],
                }
                for choice in self.choices
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
    stopped, outlook = "", None
    run, runner, space = _resume(options) if options.resume else _begin(options)
    with run:
        try:
            note(
                f"run {run.folder}: {problem_type_name(run.info.contraction)} on "
                f"{run.info.device.name}, {space.size:,} configs, {len(run.info.sizes)} sizes"
            )
            budget = run.info.budget if options.budget is None else options.budget
            searcher = _searcher(run.info, space, note)
            session = Session(run, runner, searcher, budget, show, options.patience)
            ending = session.search(time_limit_seconds=options.time_limit_seconds)
            outlook = outlook_of(searcher)
            session.measure_leaders()
        except KeyboardInterrupt:
            ending = Ending.INTERRUPTED
        except DeviceGoneError as error:
            ending, stopped = Ending.DEVICE_LOST, str(error)
        finally:
            overlap = runner.measured_while_building
            runner.close()
        interrupted = ending is Ending.INTERRUPTED
        if not interrupted:  # whoever interrupts wants the prompt back; resuming catches up
            note("copying the trials into an Optuna study (for optuna-dashboard)")
            _mirror(run, space)
        measurements = run.store.measurements()
        trials = group_trials(m for m in measurements if m.phase == "search")
        chosen = choose(measurements)
        if not trials and options.time_limit_seconds is not None:
            raise MltuneError(
                f"{run.folder}: no trial began within the time limit "
                f"(go on with: mltune search --resume --run {run.folder})"
            )
        if not chosen and not interrupted and not stopped:
            raise _nothing_right(trials, run.folder)
        return SearchResult(
            run=run.folder,
            info=run.info,
            trials=len(trials),
            failed=sum(trial.failure is not None for trial in trials),
            seconds=time.monotonic() - started,
            choices=tuple(chosen[p] for p in run.info.cross_problems if p in chosen),
            interrupted=interrupted,
            stopped=stopped,
            disturbed=sum(m.phase == SIDELINED for m in measurements),
            measured_while_building=overlap,
            ending=ending,
            effort=Effort.of(measurements, run.info.problems),
            outlook=outlook,
        )


def _begin(options: SearchOptions) -> tuple[Run, WorkerRunner, Space]:
    if options.folder is not None and (options.folder / INFO_NAME).exists():
        raise UsageError(
            f"{options.folder}: holds a run already; go on with --resume, or give another --run"
        )
    # A mistake in the user's own file is told before a device is opened; which of the shipped
    # spaces is the default depends on the device.
    given = load_space(options.space) if options.space else None
    kernels = read_files(options.kernels)
    default = HANDWRITTEN if kernels else "tiled"
    family = family_named(
        given.family if given else default,
        options.space or "--kernels",
        to_text(kernels) if kernels else "",
    )
    runner = WorkerRunner(
        "auto" if options.device is None else options.device,
        family,
        **_runner_options(options),
        seed=options.seed or 0,
    )
    try:
        info = new_run_info(options, runner.device, family.name, kernels)
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


def _resume(options: SearchOptions) -> tuple[Run, WorkerRunner, Space]:
    run = Run.resume(options.folder or newest_run(), options.storage or "")
    try:
        info = run.info
        check_resumed(options, info, run.folder)
        runner = WorkerRunner(
            options.device or info.device.uuid or info.device.name,
            family_named(info.family, str(run.folder), info.kernels),
            build_timeout_seconds=info.timing.build_timeout_seconds,
            run_timeout_seconds=info.timing.run_timeout_seconds,
            samples=info.timing.samples,
            seed=info.seed,
            cold=info.timing.cache == COLD,
            observers=info.observers,
            rest_seconds=options.rest_seconds or 0,
            builders=options.builders,
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
        "rest_seconds": options.rest_seconds,
        "cold": None if options.cache is None else options.cache == COLD,
        "observers": options.observers,
    }
    # None is an answer for the builders: as many as suit the machine.
    return {"builders": options.builders} | {k: v for k, v in given.items() if v is not None}


def _space(info: RunInfo) -> Space:
    names = outside_names(info.device, info.contraction.precision)
    return parse_space(info.space_text, info.space).bind(names)


def _searcher(info: RunInfo, space: Space, note: Note) -> Searcher:
    priors = [read_any(Path(path)) for path in info.priors]
    for prior in priors:
        for line in prior.notes:
            note(line)
    searcher = new_searcher(info.sampler, space, info.seed, priors)
    if not info.kernels or info.family == HANDWRITTEN:
        return searcher
    names = outside_names(info.device, info.contraction.precision)
    kernels = read_kept(info.kernels, "kernels")
    written = parse_space(space_text(kernels), HANDWRITTEN).bind(names)
    return AlternatingSearcher(written, searcher)


def _mirror(run: Run, space: Space) -> None:
    """Copy the trials into the run's database as an Optuna study, for `optuna-dashboard`."""
    if run.info.storage:
        return
    from mltune.search import study

    trials = group_trials(run.store.measurements("search"))
    # Hand-written kernels beside generated ones have other parameters than the space.
    rows = _study_trials([trial for trial in trials if trial.config in space])
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
