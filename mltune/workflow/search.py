"""`mltune search`: ask, run, tell until the budget is used, then time the leaders again."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

from sqlalchemy import URL

from mltune.counted import counted, none_of
from mltune.errors import DeviceGoneError, DiskFullError, MltuneError, NoCorrectConfigError
from mltune.measurement import Measurement, Phase
from mltune.problem import Problem, problem_type_name
from mltune.problem.calls import all_transposes
from mltune.run.database import read_url
from mltune.run.effort import Effort
from mltune.run.host import Host
from mltune.run.run import read_info
from mltune.run.run_info import TIME, RunInfo
from mltune.runner.opening import Opening
from mltune.search.expected_gain import ExpectedGain
from mltune.tuning.cross_sizes import spread_order
from mltune.tuning.final_selection import Choice, choose
from mltune.tuning.local_workers import LocalWorkers, all_devices, share_of_builders
from mltune.tuning.progress import Show
from mltune.tuning.resumed_run import newest_run, resuming
from mltune.tuning.search_options import (
    ALL_DEVICES,
    SearchOptions,
    check_options,
    trials_asked,
)
from mltune.tuning.shared_tuning import SharedTuning
from mltune.tuning.sharing import device_key, joined
from mltune.tuning.stop_reason import AHEAD, StopReason
from mltune.tuning.trial import Trial, group_trials
from mltune.workflow.comparing import Comparing, compare_with_installed
from mltune.workflow.gain import Gain, default_seconds
from mltune.workflow.objective import Objective
from mltune.workflow.run_setup import Note, default_configs, new_study, open_writer
from mltune.workflow.search_result import SearchResult
from mltune.workflow.search_time import SearchTime
from mltune.workflow.tuned_study import create_study

_WAIT_SECONDS = 120
"""How long workers of this host wait for the run."""


def search(options: SearchOptions, show: Show, note: Note) -> SearchResult:
    """Search the space of a run, new or resumed, and record every measurement.

    Ctrl-C ends it early, with the results so far.

    Args:
        options: of the verb.
        show: called with the progress after every trial.
        note: called with lines of text, such as the run's folder.

    Raises:
        UsageError: when an option, a file or the folder is wrong.
        NoDeviceError: when there is no such device.
        NoCorrectConfigError: when every config failed.
        MltuneError: when something cannot be written.
    """
    times = SearchTime(time.monotonic(), options.time_limit_seconds, options.compare)
    stopped, gain, asked = "", None, options
    with ExitStack() as stack:
        workers = opening = None
        if options.device == ALL_DEVICES:
            check_options(options)
            if not options.resume:
                opening = stack.enter_context(Opening("auto", observers=options.observers or ()))
            options, workers = _one_and_others(options)
            stack.enter_context(workers)
            if opening is not None:
                opening.start_builders(options.builders or 0)
        objective = stack.enter_context(Objective.of(options, note, opening))
        run, info, known = objective.run, objective.info, objective.run.store.count()
        for line in _introduction(objective, options, times):
            note(line)
        show = times.with_time_left(show, info, objective.space.size)
        try:
            if run.url is None:
                reason, gain = _search_alone(objective, options, times, show)
            else:
                reason, gain = _search_together(
                    objective, run.url, options, times, workers, show, note
                )
        except KeyboardInterrupt:
            reason = StopReason.INTERRUPTED
        except DiskFullError as error:
            again = resuming(run.folder, info, *_unrecorded(asked, info))
            raise error.resumed_by(again) from error
        except DeviceGoneError as error:
            reason, stopped = StopReason.DEVICE_LOST, str(error)
        return _result(objective, asked, times, reason, stopped, gain, known)


def _unrecorded(options: SearchOptions, info: RunInfo, made: int | None = None) -> tuple[str, ...]:
    """Return the options that say how much is done, and where, as no run records them.

    Args:
        options: of this call.
        info: of the run.
        made: the number of trials, if the leaders' rounds have begun; no more are asked for.
    """
    budget = options.budget if made is None else made
    everywhere = options.device == ALL_DEVICES
    given = (
        ("--budget", None if budget == info.budget else budget),
        ("--time-limit", options.time_limit_seconds if made is None else None),
        ("--patience", options.patience),
        ("--rest", options.rest_seconds),
        ("--builders", options.builders),
        ("--device", options.device if options.resume or everywhere else None),
        ("--storage", info.storage if everywhere else None),
    )
    said = ((option, value) for option, value in given if value is not None)
    return tuple(
        word
        for option, value in said
        for word in (option, f"{value:.9g}" if isinstance(value, float) else str(value))
    )


def _result(
    objective: Objective,
    options: SearchOptions,
    times: SearchTime,
    reason: StopReason,
    stopped: str,
    gain: ExpectedGain | None,
    known: int,
) -> SearchResult:
    """Return the result from the run's measurements, once the device is free again.

    The first `known` ones are of earlier calls.

    Raises:
        NoCorrectConfigError: when the search ended and nothing was tried, or nothing was right.
    """
    run, info = objective.run, objective.info
    overlap = objective.runner.measured_while_building
    objective.runner.close()
    measurements = run.store.measurements()
    trials = group_trials(m for m in measurements if m.phase == Phase.SEARCH)
    in_leaders = any(row.phase == Phase.FINAL for row in measurements[known:])
    chosen = choose(measurements)
    ended = reason is not StopReason.INTERRUPTED and not stopped
    if not trials and ended and times.limit_seconds is not None:
        raise _nothing_tried(run.folder, info)
    if not chosen and ended:
        raise _nothing_right(trials, run.folder)
    compared = Gain()
    if ended:
        try:
            compared = _gained(objective, times, chosen, measurements)
        except KeyboardInterrupt:
            reason = StopReason.INTERRUPTED
    return SearchResult(
        run=run.folder,
        info=info,
        trials=len(trials),
        failed=sum(trial.failure is not None for trial in trials),
        seconds=times.elapsed,
        choices=tuple(chosen[p] for p in info.cross_problems if p in chosen),
        stopped=stopped,
        disturbed=sum(m.phase == Phase.DISTURBED for m in measurements),
        measured_while_building=overlap,
        stop_reason=reason,
        sizes_left_out=len({*info.problems} - {row.problem for row in measurements}),
        effort=Effort.of(measurements, info.problems),
        expected_gain=gain,
        gain=compared,
        unrecorded=_unrecorded(options, info, len(trials) if in_leaders else None),
    )


def _introduction(
    objective: Objective, options: SearchOptions, times: SearchTime
) -> Iterator[str]:
    """Note what is searched, and what may disturb it."""
    info = objective.info
    yield (
        f"run {objective.run.folder}: {problem_type_name(info.contraction)} on "
        f"{info.device.name}, {counted(objective.space.size, 'config')}, "
        f"{counted(len(info.sizes), 'size')}"
    )
    if all_transposes(asked := (options.problem or "").strip()):
        meant = problem_type_name(info.contraction)
        yield f"{asked} means {meant} here (all transposes: mltune tune --problems {asked})"
    if info.spaces:
        names = ", ".join(each.name.removesuffix(".yaml") for each in info.spaces)
        yield f"space {info.space}: the families {info.family} (of {names})"
    if not options.resume:
        yield times.forecast(info, min(trials_asked(options, info), objective.space.size))
    if (host := Host.here()).is_busy:
        yield (
            f"other work keeps the processor busy: a load of {host.load:.1f} on "
            f"{counted(host.cores, 'core')} (see mltune devices --environment)"
        )


def _gained(
    objective: Objective,
    times: SearchTime,
    chosen: Mapping[Problem, Choice],
    rows: Sequence[Measurement],
) -> Gain:
    """Compare the chosen kernels with the default, the roofline, and installed libraries."""
    info = objective.info
    best = [chosen[problem].best for problem in info.problems if problem in chosen]
    if info.objective != TIME:
        return Gain()
    seconds = times.of_comparison(times.elapsed)
    comparing = Comparing()
    if seconds:
        order = spread_order([row.problem.sizes for row in best])
        comparing = compare_with_installed(
            info,
            [best[number] for number in order],
            objective.runner.device_number,
            seconds,
            times.of_libraries_start,
        )
    default = default_seconds(rows, default_configs(objective.space))
    return Gain.of(best, default, info.device, comparing)


def _search_alone(
    objective: Objective, options: SearchOptions, times: SearchTime, show: Show
) -> tuple[StopReason, ExpectedGain | None]:
    budget = trials_asked(options, objective.info)
    study = create_study(objective)
    tuning = study.tuning
    asks_for_more = options.budget is not None or times.limit_seconds is not None
    end = times.end_of_leaders
    if not asks_for_more and tuning.has_leaders_left(budget):
        reason = StopReason.LEADERS
    else:
        limit = times.of_trials(objective.info)
        last = math.inf if limit is None else max(end, time.monotonic() + limit)
        reason = tuning.search(budget, limit, patience=options.patience, show=show, end=last)
    tuning.measure_leaders(show, end)
    return reason, study.expected_gain(AHEAD)


def _search_together(
    objective: Objective,
    url: URL,
    options: SearchOptions,
    times: SearchTime,
    workers: LocalWorkers | None,
    show: Show,
    note: Note,
) -> tuple[StopReason, ExpectedGain | None]:
    run, runner, info = objective.run, objective.runner, objective.info
    key = device_key(runner.device, runner.device_number)
    study = new_study(info, objective.space, info.seed, note)
    # What ends this search early ends its workers, too: a signal may reach this process alone.
    with workers or nullcontext(), joined(info, run.database, key) as queue:
        queue.set_budget(trials_asked(options, info))
        tuning = SharedTuning(
            info, run.database, queue, runner, study, show, note, partial(open_writer, info, url)
        )
        reason = StopReason.BUDGET
        limit, end = times.of_trials(info), times.end_of_leaders
        tuning.work(limit, end)
        if not tuning.counts.concluded and limit is not None:
            reason = StopReason.TIME_LIMIT
            queue.set_budget(0)  # trials that were begun are finished, here or elsewhere
            tuning.work(leaders_end=end)
        if workers is not None:
            try:
                workers.wait()
            except MltuneError as error:  # the run is concluded without them
                note(str(error))
        used_up = tuning.counts.finished < tuning.counts.budget
        reason = StopReason.SPACE if used_up else reason
        return reason, study.expected_gain(AHEAD)


def _one_and_others(options: SearchOptions) -> tuple[SearchOptions, LocalWorkers]:
    """Use the first of all devices in this process, and start a worker for each other one.

    The workers start before the run exists, so that they load libraries while this process opens
    its device: `auto`, which is the first of all devices.
    """
    first, *others = all_devices()
    builders = options.builders
    if builders is None:
        builders = share_of_builders((first, *others))
    run = read_info(options.folder or newest_run()).id if options.resume else options.run_id
    more = ["--builders", str(builders), "--wait", str(_WAIT_SECONDS)]
    if options.sampler is not None:
        more += ["--sampler", options.sampler]
    storage = read_url(options.storage or "").render_as_string(hide_password=False)
    workers = LocalWorkers(others, storage, run, more)
    return replace(options, device=first.number, builders=builders), workers


def _nothing_tried(folder: Path, info: RunInfo) -> MltuneError:
    resume = resuming(folder, info)
    return MltuneError(f"{folder}: no trial began within the time limit (resume with: {resume})")


def _nothing_right(trials: Sequence[Trial], folder: Path) -> NoCorrectConfigError:
    failures = [failure for trial in trials if (failure := trial.failure) is not None]
    counts = Counter(failure.status.value for failure in failures)
    kinds = ", ".join(f"{count} {kind}" for kind, count in counts.most_common())
    whose = "it" if len(failures) == 1 else "the first"
    said = f"; {whose} said: {failures[0].message}" if failures else ""
    wrong = none_of(len(trials), "config", "was", "right")
    return NoCorrectConfigError(f"{folder}: {wrong} ({kinds}{said})")
