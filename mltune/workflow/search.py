"""`mltune search`: ask, run, tell until the budget is used, then measure the leaders again."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sqlalchemy import URL

from mltune.device import DeviceEntry
from mltune.errors import (
    DeviceGoneError,
    MltuneError,
    NoCorrectConfigError,
    UsageError,
)
from mltune.kernel.families import FAMILIES
from mltune.kernel.handwritten.family import NAME as HANDWRITTEN
from mltune.kernel.handwritten.read import read_files, to_text
from mltune.problem import problem_type_name
from mltune.record import Measurement
from mltune.record.database import file_url
from mltune.record.effort import Effort
from mltune.record.host import Host
from mltune.record.run import DATABASE_NAME, INFO_NAME, Run
from mltune.record.run_info import RunInfo
from mltune.runner.live import WorkerRunner
from mltune.search.library import LibrarySearcher
from mltune.search.outlook import Outlook
from mltune.space.load import load_space
from mltune.space.space import Space
from mltune.workflow.crew import Crew, all_devices, share_of_builders
from mltune.workflow.ending import Ending, outlook_of, outlook_to_json
from mltune.workflow.equipment import (
    Note,
    bound_space,
    check_family,
    library_of,
    mirror,
    of_model,
    open_runner,
)
from mltune.workflow.families import family_named
from mltune.workflow.finale import SIDELINED, Choice, choose
from mltune.workflow.options import (
    ALL_DEVICES,
    COLD,
    NO_PATIENCE,
    SearchOptions,
    check_options,
    check_resumed,
    default_folder,
    default_space,
    new_run_info,
    newest_run,
)
from mltune.workflow.progress import Show
from mltune.workflow.session import Session
from mltune.workflow.shared_session import SharedSession
from mltune.workflow.sharing import device_key, joined, study_name
from mltune.workflow.shell import command
from mltune.workflow.trials import Trial, group_trials


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
            again = command("mltune", "search", "--resume", "--run", self.run)
            return (f"{reason}; go on with: {again}",)
        if self.info.family == HANDWRITTEN:
            return (f"next: {command('mltune', 'report', self.run)}",)
        train, distil = (command("mltune", verb, self.run) for verb in ("train", "distil"))
        return (f"next: {train}    or: {distil}",)

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
    others: tuple[DeviceEntry, ...] = ()
    if options.device == ALL_DEVICES:
        options, others = _one_and_others(options)
    run, runner, space = _resume(options) if options.resume else _begin(options)
    with run:
        try:
            note(
                f"run {run.folder}: {problem_type_name(run.info.contraction)} on "
                f"{run.info.device.name}, {space.size:,} configs, {len(run.info.sizes)} sizes"
            )
            if (host := Host.here()).is_busy:
                note(
                    f"other work keeps the processor busy: a load of {host.load:.1f} on "
                    f"{host.cores} cores (see mltune devices --environment)"
                )
            library = library_of(run.info, space, run.info.seed, note)
            if run.url is None:
                ending = _search_alone(run, runner, library, options, show)
            else:
                ending = _search_together(
                    run, run.url, runner, library, options, others, show, note
                )
            outlook = outlook_of(library)
        except KeyboardInterrupt:
            ending = Ending.INTERRUPTED
        except DeviceGoneError as error:
            ending, stopped = Ending.DEVICE_LOST, str(error)
        finally:
            overlap = runner.measured_while_building
            runner.close()
        interrupted = ending is Ending.INTERRUPTED
        if not interrupted:  # whoever interrupts wants the prompt back; resuming catches up
            _mirror(run, space, show, note)
        measurements = run.store.measurements()
        trials = group_trials(m for m in measurements if m.phase == "search")
        chosen = choose(measurements)
        if not trials and options.time_limit_seconds is not None:
            raise MltuneError(
                f"{run.folder}: no trial began within the time limit "
                f"(go on with: {command('mltune', 'search', '--resume', '--run', run.folder)})"
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


def _search_alone(
    run: Run, runner: WorkerRunner, library: LibrarySearcher, options: SearchOptions, show: Show
) -> Ending:
    budget = run.info.budget if options.budget is None else options.budget
    session = Session(run, runner, library, budget, show, options.patience)
    asks_for_more = options.budget is not None or options.time_limit_seconds is not None
    if session.has_leaders_left and not asks_for_more:
        ending = Ending.LEADERS
    else:
        ending = session.search(time_limit_seconds=options.time_limit_seconds)
    session.measure_leaders()
    return ending


def _search_together(
    run: Run,
    url: URL,
    runner: WorkerRunner,
    library: LibrarySearcher,
    options: SearchOptions,
    others: Sequence[DeviceEntry],
    show: Show,
    note: Note,
) -> Ending:
    more = () if options.builders is None else ("--builders", str(options.builders))
    storage = url.render_as_string(hide_password=False)
    key = device_key(runner.device, runner.device_number)
    with joined(run.info, run.store, key) as board:
        board.set_budget(run.info.budget if options.budget is None else options.budget)
        session = SharedSession(run.info, run.store, board, runner, library, show, note)
        ending = Ending.BUDGET
        with Crew(others, storage, run.info.id, more) as crew:
            session.work(options.time_limit_seconds)
            if not session.counts.concluded and options.time_limit_seconds is not None:
                ending = Ending.TIME_LIMIT
                board.set_budget(0)  # what is begun is finished, here or elsewhere
                session.work()
            crew.wait()
        used_up = session.counts.finished < session.counts.budget
        return Ending.SPACE if used_up else ending


def _mirror(run: Run, space: Space, show: Show, note: Note) -> None:
    """Copy the trials into the run's database as an Optuna study, for `optuna-dashboard`."""
    url = run.url or file_url(run.folder / DATABASE_NAME)
    name = run.folder.name if run.url is None else study_name(run.info)
    try:
        mirror(run.store, space, url, name, show)
    except KeyboardInterrupt:
        note("not all trials are copied for optuna-dashboard; a resumed search copies the rest")


def _one_and_others(options: SearchOptions) -> tuple[SearchOptions, tuple[DeviceEntry, ...]]:
    """Let this process take the first of all devices, and share out the builders."""
    first, *others = all_devices()
    builders = options.builders
    if builders is None:
        builders = share_of_builders((first, *others))
    return replace(options, device=first.number, builders=builders), tuple(others)


def _begin(options: SearchOptions) -> tuple[Run, WorkerRunner, Space]:
    if options.folder is not None and (options.folder / INFO_NAME).exists():
        raise UsageError(
            f"{options.folder}: holds a run already; go on with --resume, or give another --run"
        )
    # A mistake in the user's own file is told before a device is opened; which of the shipped
    # spaces is the default depends on the device.
    given = load_space(options.space) if options.space else None
    kernels = read_files(options.kernels)
    texts = to_text(kernels) if kernels else ""
    where = options.space or "--kernels"
    wanted = given.family if given else HANDWRITTEN if kernels else ""
    family = family_named(wanted, where, texts) if wanted else None
    runner = WorkerRunner(
        "auto" if options.device is None else options.device,
        family or FAMILIES["tiled"],
        **_runner_options(options),
        seed=options.seed or 0,
    )
    try:
        if family is None:
            family = FAMILIES[load_space(default_space(runner.device)).family]
            runner.write_with(family)
        info = new_run_info(options, runner.device, family.name, kernels)
        space = bound_space(info)
        check_family(family, info.contraction, space)
        run = Run.create(options.folder or default_folder(info), info, options.storage or "")
    except BaseException:
        runner.close()
        raise
    return run, runner, space


def _resume(options: SearchOptions) -> tuple[Run, WorkerRunner, Space]:
    run = Run.resume(options.folder or newest_run(), options.storage or "")
    try:
        info = run.info
        check_resumed(options, info, run.folder)
        if run.url is not None and options.patience is not None:
            raise UsageError(f"{run.folder}: {NO_PATIENCE}")
        opened = open_runner(
            info,
            options.device or info.device.uuid or info.device.name,
            str(run.folder),
            builders=options.builders,
            rest_seconds=options.rest_seconds or 0,
        )
        runner = of_model(opened, info.device, run.folder)
    except BaseException:
        run.close()
        raise
    return run, runner, bound_space(info)


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


def _nothing_right(trials: Sequence[Trial], folder: Path) -> NoCorrectConfigError:
    failures = [failure for trial in trials if (failure := trial.failure) is not None]
    counts = Counter(failure.status.value for failure in failures)
    kinds = ", ".join(f"{count} {kind}" for kind, count in counts.most_common())
    first = f"; the first said: {failures[0].message}" if failures else ""
    return NoCorrectConfigError(
        f"{folder}: none of {len(trials)} configs was right ({kinds}{first})"
    )
