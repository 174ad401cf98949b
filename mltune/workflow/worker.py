"""`mltune worker`: works on a search in a shared database."""

from __future__ import annotations

import importlib
import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import URL

from mltune.counted import counted
from mltune.device_info import DeviceInfo
from mltune.errors import DeviceGoneError, MltuneError, UsageError
from mltune.problem import problem_type_name
from mltune.run.database import PATIENCE_SECONDS, read_url
from mltune.run.registry import enter, read_study
from mltune.run.run import describe_shared
from mltune.run.run_info import RunInfo
from mltune.run.shared_trials import Counts
from mltune.run.store import Store
from mltune.runner.capacity import fits, refuse_too_large
from mltune.runner.live import WorkerRunner
from mltune.runner.opening import Opening
from mltune.space.names import outside_names
from mltune.tuning.families import family_of_run
from mltune.tuning.local_workers import LocalWorkers, all_devices, share_of_builders
from mltune.tuning.progress import Progress, Show
from mltune.tuning.resumed_run import check_sampler_given
from mltune.tuning.search_options import UNLIMITED_BUDGET, without_password
from mltune.tuning.shared_tuning import SharedTuning
from mltune.tuning.sharing import device_key, joined, own_seed
from mltune.workflow.chosen_spaces import SearchSpace, bound_space, check_families
from mltune.workflow.run_setup import (
    Note,
    new_study,
    open_runner,
    open_writer,
)

_LOOK_SECONDS = 0.1
_LEADS_AFTER_SECONDS = 10.0
"""A worker that a search has started leaves the leaders to the search, which knows when its time
limit ends. If the search has died, the worker measures them.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOptions:
    """The options of `mltune worker`; None stands for an option that was not given."""

    storage: str
    device: str = "auto"
    study: str | None = None
    sampler: str | None = None
    folder: Path | None = None
    builders: int | None = None
    time_limit_seconds: float | None = None
    wait_seconds: float = 0.0
    command: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerResult:
    """The work of a worker.

    Attributes:
        info: of its run.
        trials: how many it finished.
        counts: the progress of the run, by all workers.
        stopped: why it ended early by itself; empty if it did not.
    """

    study: str
    info: RunInfo
    trials: int
    counts: Counts
    seconds: float
    interrupted: bool
    stopped: str

    @property
    def exit_code(self) -> int:
        """The exit code: 0, 130 if it was interrupted, or 4 if the device was lost."""
        return 130 if self.interrupted else 4 if self.stopped else 0

    @property
    def in_all(self) -> str:
        """The number of trials by all workers, and the budget unless only a time limit ends it."""
        counts = self.counts
        is_open = counts.budget >= UNLIMITED_BUDGET
        return f"{counts.finished}" if is_open else f"{counts.finished} of {counts.budget}"

    def to_json(self) -> dict[str, Any]:
        """Return the document that `--json` prints."""
        return {
            "study": self.study,
            "run": self.info.id,
            "device": self.info.device.name,
            "problem": problem_type_name(self.info.contraction),
            "trials": self.trials,
            "finished": self.counts.finished,
            "budget": self.counts.budget,
            "concluded": self.counts.concluded,
            "seconds": round(self.seconds, 3),
            "interrupted": self.interrupted,
            "stopped": self.stopped,
            "exit_code": self.exit_code,
        }


def work_on_all(options: WorkerOptions, note: Note) -> list[dict[str, Any]]:
    """Start a worker for each device, and return their results.

    Raises:
        UsageError: when an option is wrong, or the database has no such study.
        NoDeviceError: when there is no device.
        MltuneError: when a worker failed; it has printed the reason.
    """
    if options.folder is not None:
        raise UsageError("--run: cannot go with --device all, whose devices may need several runs")
    asked = _await_study(read_url(options.storage), options.study, options.wait_seconds)
    check_sampler_given(f"study {asked.id}", asked.sampler, options.sampler)
    devices = all_devices()
    note(f"a worker for each of {len(devices)} devices: {devices[0].info.name}")
    builders = share_of_builders(devices) if options.builders is None else options.builders
    more = ["--builders", str(builders)]
    if options.sampler is not None:
        more += ["--sampler", options.sampler]
    if options.time_limit_seconds is not None:
        more += ["--time-limit", str(options.time_limit_seconds)]
    with LocalWorkers(devices, options.storage, asked.id, more) as workers:
        return workers.wait()


def work(options: WorkerOptions, show: Show, note: Note) -> WorkerResult:
    """Measure trials of a study until none is left.

    Ctrl-C ends it early; other workers continue its trials.

    Args:
        options: of the verb.
        show: called with the progress after every trial.
        note: called with lines of text, such as the name of the study.

    Raises:
        UsageError: when an option is wrong, or the database has no such study.
        NoDeviceError: when there is no such device.
        MltuneError: when the database did not answer for too long.
    """
    started = time.monotonic()
    url = read_url(options.storage)
    interrupted, stopped = False, ""
    with ExitStack() as stack:
        asked, runner = _begin(options, url, stack)
        info, space = _run_of(
            runner.device, asked, url, without_password(options.command, options.storage)
        )
        if options.folder is not None:
            describe_shared(options.folder, info, url)
        study = new_study(info, space, own_seed(), note)
        note(
            f"study {asked.id}: {problem_type_name(info.contraction)} on "
            f"{runner.device.name}, {counted(space.size, 'config')}, "
            f"{counted(len(info.sizes), 'size')}"
        )
        runner.await_proof()
        with (
            Store(url, run=info.id, patience_seconds=PATIENCE_SECONDS) as store,
            joined(info, store, device_key(runner.device, runner.device_number)) as shared,
        ):
            tuning = SharedTuning(
                info,
                store,
                shared,
                runner,
                study,
                partial(_show_open, show),
                note,
                partial(open_writer, info, url),
                leads_after=_LEADS_AFTER_SECONDS if options.wait_seconds else 0.0,
            )
            try:
                tuning.work(options.time_limit_seconds)
            except KeyboardInterrupt:
                interrupted = True
            except DeviceGoneError as error:
                stopped = str(error)
    return WorkerResult(
        study=asked.id,
        info=info,
        trials=tuning.measured,
        counts=tuning.counts,
        seconds=time.monotonic() - started,
        interrupted=interrupted,
        stopped=stopped,
    )


def _show_open(show: Show, progress: Progress) -> None:
    """Show no end of trials that only the time limit of a search ends."""
    if progress.total >= UNLIMITED_BUDGET:
        progress = replace(progress, total=0, seconds_left=None)
    show(progress)


def _begin(options: WorkerOptions, url: URL, stack: ExitStack) -> tuple[RunInfo, WorkerRunner]:
    """Return the study's options and a runner; the device is opened while the study is read."""
    opening = stack.enter_context(Opening(options.device, builders=options.builders))
    asked = _await_study(url, options.study, options.wait_seconds)
    check_sampler_given(f"study {asked.id}", asked.sampler, options.sampler)
    opened = open_runner(
        options.device,
        family_of_run(asked, "worker"),
        (asked.contraction.precision,),
        asked.timing,
        seed=asked.seed,
        observers=asked.observers,
        builders=options.builders,
        opening=opening,
        waits=False,
    )
    return asked, stack.enter_context(opened)


def _await_study(url: URL, study: str | None, seconds: float) -> RunInfo:
    """Wait for a study and return its options; load the search's libraries meanwhile."""
    importlib.import_module("mltune.search.guided")
    end = time.monotonic() + seconds
    while True:
        try:
            with Store(url, create=False) as store:
                return read_study(store, study)
        except MltuneError:  # also that a server is starting up
            if time.monotonic() >= end:
                raise
        time.sleep(_LOOK_SECONDS)


def _run_of(
    device: DeviceInfo, asked: RunInfo, url: URL, command: tuple[str, ...]
) -> tuple[RunInfo, SearchSpace]:
    """Return the run of a device's model, made if it is the first of its model, and its space."""
    info = asked.asked_of(device, command)
    info = info.measured_on(problem for problem in info.cross_problems if fits(problem, device))
    refuse_too_large(info.final_problems, device)
    space = bound_space(info)
    names = [outside_names(each.device, each.contraction) for each in (asked, info)]
    if names[0] != names[1]:  # otherwise the process that began the study has checked them
        check_families(info, space)
    with Store(url) as store:
        entered = enter(store, asked.id, info)
    names = [outside_names(each.device, each.contraction) for each in (info, entered)]
    return entered, space if names[0] == names[1] else bound_space(entered)
