"""`mltune sweep`: GEMMbench's experiments: kernels, local sizes and orders, each repeated."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from mltune.errors import DeviceGoneError, DiskFullError, UsageError
from mltune.files import refuse_unwritable, write_atomically
from mltune.kernel.handwritten import Description
from mltune.kernel.handwritten.family import NAME as HANDWRITTEN
from mltune.kernel.handwritten.read import read_files, to_text
from mltune.kernel.space_file import parse_space
from mltune.measurement import Measurement, Phase
from mltune.problem import problem_type_name
from mltune.report.bars import standalone
from mltune.report.experiments import Experiment, experiments
from mltune.run.run import Run
from mltune.run.run_info import TIME, RunInfo
from mltune.runner.live import WorkerRunner
from mltune.runner.observe import ENERGY
from mltune.shell import command
from mltune.space.config import Config
from mltune.space.names import outside_names
from mltune.tuning.families import family_named
from mltune.tuning.new_run import default_folder, handwritten_space, new_run_info, timing_of
from mltune.tuning.progress import Show
from mltune.tuning.queue import Job, ListQueue
from mltune.tuning.recorder import AtOnce
from mltune.tuning.resumed_run import newest_run
from mltune.tuning.search_options import SearchOptions, asked_contraction
from mltune.tuning.session import MeasurementSession
from mltune.tuning.trial import Trial
from mltune.tuning.tuner import Tuner
from mltune.workflow.run_setup import open_runner, reopened

SWEEP = "sweep"
"""The sampler's name in `run.json`."""

DEFAULT_REPETITIONS = 4
DEFAULT_LOCAL = ((8, 8),)
DEFAULT_BETA = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepOptions:
    """The options of `mltune sweep`.

    Attributes:
        local_sizes: of all kernels; None for each kernel's own list.
        resume: whether to continue a run, which keeps its options.
    """

    kernels: tuple[Path, ...]
    sizes: str | None = None
    local_sizes: tuple[tuple[int, int], ...] | None = DEFAULT_LOCAL
    repetitions: int = DEFAULT_REPETITIONS
    alpha: float = 1.0
    beta: float = DEFAULT_BETA
    samples: int | None = None
    device: str | None = None
    cache: str | None = None
    observers: tuple[str, ...] | None = None
    seed: int = 0
    folder: Path | None = None
    resume: bool = False
    figure: Path | None = None
    command: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepResult:
    """The result of a sweep.

    Attributes:
        stopped: why it ended early; empty if it did not.
        exit_code: 0, 130 if it was interrupted, or 4 if the device was lost.
    """

    run: Path
    info: RunInfo
    experiments: tuple[Experiment, ...]
    seconds: float
    figure: Path | None
    stopped: str = ""
    exit_code: int = 0

    @property
    def conditions(self) -> tuple[tuple[str, str], ...]:
        """Return the conditions of the measurements as text."""
        info, device = self.info, self.info.device
        is_row = info.contraction.swaps_operands
        layout = "row-major" if is_row else "column-major"
        return (
            ("problem", f"{problem_type_name(info.contraction)}, {layout}, no gaps"),
            ("factors", f"alpha = {info.alpha}, beta = {info.beta}"),
            ("device", device.name_and_driver),
            ("date", info.created[:10]),
            (
                "time",
                f"{device.time_words}, without copies in or out; a repetition is the "
                f"median of {info.timing.samples} samples, caches {info.timing.cache}",
            ),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the document that `--json` prints."""
        return {
            "run": str(self.run),
            "problem": problem_type_name(self.info.contraction),
            "device": self.info.device.name,
            "driver": self.info.device.driver_version,
            "conditions": dict(self.conditions),
            "seconds": round(self.seconds, 3),
            "stopped": self.stopped,
            "experiments": [_json(one) for one in self.experiments],
        }


def _json(one: Experiment) -> dict[str, Any]:
    config = one.first.config
    return {
        "id": one.first.id,
        "kernel": config["kernel"],
        "local_size": [config["work_group_0"], config["work_group_1"]],
        "sizes": list(one.problem.size),
        "status": one.status.value,
        "gflops": list(one.gflops),
        "mean": one.mean,
        "deviation": one.deviation,
        "max_error": one.max_error,
        "error_bound": one.first.error_bound,
        "energy_joules": one.observed(ENERGY),
    }


def sweep(options: SweepOptions, show: Show) -> SweepResult:
    """Measure every kernel with every local size on every size, several times.

    One repetition of everything ends before the next begins: they are interleaved, so that drift
    affects all kernels equally. A failure is recorded, and the sweep continues.

    Raises:
        UsageError: when an option, a file or the folder is wrong.
        NoDeviceError: when there is no such device.
        MltuneError: when something cannot be written.
    """
    started = time.monotonic()
    if options.figure is not None:  # now, as a sweep may take hours
        refuse_unwritable(options.figure, f"figure: {options.figure}")
    run, runner = _resume(options) if options.resume else _begin(options)
    stopped, code = "", 0
    with run:
        try:
            with runner:
                _measure(run, runner, show)
        except KeyboardInterrupt:
            stopped, code = "interrupted", 130
        except DeviceGoneError as error:
            stopped, code = str(error), 4
        except DiskFullError as error:
            again = command("mltune", "sweep", "--resume", "--run", run.folder)
            raise error.resumed_by(again) from error
        found = experiments(run.store.measurements(Phase.SEARCH))
        result = SweepResult(
            run=run.folder,
            info=run.info,
            experiments=found,
            seconds=time.monotonic() - started,
            figure=options.figure,
            stopped=stopped,
            exit_code=code,
        )
    if options.figure is not None and found:
        title = f"{problem_type_name(result.info.contraction)} on {result.info.device.name}"
        text = standalone(found, f"{title}, {result.info.created[:10]}")
        write_atomically(options.figure, text.encode())
    return result


def _measure(run: Run, runner: WorkerRunner, show: Show) -> None:
    before = run.store.measurements(Phase.SEARCH)
    problems = run.info.problems
    known: dict[int, list[Measurement]] = {}
    for row in before:
        known.setdefault(row.trial, []).append(row)
    jobs = [
        Job(
            trial=Trial(number, config, tuple(known.get(number, ()))),
            problems=problems,
            ends_at_failure=False,
        )
        for number, config in enumerate(_trials(run.info))
        if len(known.get(number, ())) < len(problems)
    ]
    queue = ListQueue(jobs, runner, done=run.info.budget - len(jobs))
    # Every repetition counts: slow ones are not cut short, and none is repeated.
    session = MeasurementSession(runner, TIME, before, races=False, retries=0)
    Tuner(queue, None, session, AtOnce(run.database.add), problems, show, SWEEP).run()


def _trials(info: RunInfo) -> Iterator[Config]:
    """Return the configs of a sweep's trials; each trial repeats a config on all sizes."""
    names = outside_names(info.device, info.contraction)
    configs = tuple(parse_space(info.space_text, info.space).bind(names))
    return (configs[trial % len(configs)] for trial in range(info.budget))


def _begin(options: SweepOptions) -> tuple[Run, WorkerRunner]:
    if not options.kernels:
        raise UsageError("sweep: needs the JSON file of a kernel (such as spaces/handwritten)")
    kernels = tuple(_with_local_sizes(each, options) for each in read_files(options.kernels))
    asked = SearchOptions(
        sizes=options.sizes,
        alpha=options.alpha,
        beta=options.beta,
        samples=options.samples,
        cache=options.cache,
        observers=options.observers,
        seed=options.seed,
        kernels=options.kernels,
        command=options.command,
    )
    runner = open_runner(
        options.device or "auto",
        family_named(HANDWRITTEN, "sweep", to_text(kernels)),
        (asked_contraction(asked, kernels).precision,),
        timing_of(asked),
        seed=options.seed,
        observers=options.observers or (),
    )
    try:
        info = new_run_info(asked, runner.device, (handwritten_space(kernels),), kernels)
        names = outside_names(info.device, info.contraction)
        configs = parse_space(info.space_text, info.space).bind(names).size
        info = replace(info, sampler=SWEEP, budget=configs * options.repetitions)
        return Run.create(options.folder or default_folder(info), info), runner
    except BaseException:
        runner.close()
        raise


def _resume(options: SweepOptions) -> tuple[Run, WorkerRunner]:
    run = Run.resume(options.folder or newest_run())
    info = run.info
    try:
        if info.sampler != SWEEP:
            raise UsageError(f"{run.folder}: is no sweep; continue it with mltune search --resume")
        open_device = partial(
            open_runner,
            family=family_named(info.family, str(run.folder), info.kernels),
            precisions=(info.contraction.precision,),
            timing=info.timing,
            seed=info.seed,
            observers=info.observers,
        )
        runner = reopened(info.device, options.device, run.folder, open_device)
    except BaseException:
        run.close()
        raise
    return run, runner


def _with_local_sizes(kernel: Description, options: SweepOptions) -> Description:
    if options.local_sizes is None:
        return kernel
    return replace(kernel, local_sizes=options.local_sizes)
