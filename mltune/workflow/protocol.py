"""`mltune protocol`: Tensile's seven steps on a device, with a run for each problem type."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from mltune import __version__
from mltune.compat.tensile import (
    Problems,
    Protocol,
    parse_protocol,
)
from mltune.compat.tensile.protocol_bench import ProtocolBench, TimeIsUpError
from mltune.compat.tensile.protocol_job import FAMILY, ProtocolJob
from mltune.compat.tensile.protocol_result import (
    GroupResult,
    PlanResult,
    ProtocolResult,
    RunResult,
)
from mltune.counted import counted
from mltune.device import choose
from mltune.device_info import DeviceInfo
from mltune.errors import DeviceGoneError, DiskFullError, UsageError
from mltune.files import make_folder, write_atomically
from mltune.problem import problem_type_name
from mltune.problem.precision import Precision
from mltune.reading import read_text
from mltune.run.run import INFO_NAME, Run, read_info
from mltune.run.run_info import RunInfo, Timing
from mltune.runner.capacity import refuse_precisions
from mltune.runner.live import DEFAULT_SAMPLES, WorkerRunner
from mltune.runner.timing import WARMUPS
from mltune.shell import command
from mltune.tuning.progress import Show
from mltune.tuning.search_options import RUNS
from mltune.tuning.trial import best_by_problem
from mltune.workflow.run_setup import Note, open_runner, reopened

PROTOCOL_NAME = "protocol.yaml"
"""A copy of the protocol's file, in the folder of the runs."""

SAMPLER = "protocol"
"""The sampler's name in `run.json`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtocolOptions:
    """The options of `mltune protocol`.

    Attributes:
        device: None for the best one, or the resumed run's.
        builders: None for as many as suit the machine.
        seed, samples, build_timeout_seconds, run_timeout_seconds: None for the value of the
            resumed run, of the file, or the default.
    """

    file: Path
    folder: Path | None = None
    resume: bool = False
    device: str | None = None
    seed: int | None = None
    samples: int | None = None
    build_timeout_seconds: float | None = None
    run_timeout_seconds: float | None = None
    builders: int | None = None
    rest_seconds: float = 0.0
    time_limit_seconds: float | None = None
    command: tuple[str, ...] = ()


def plan_protocol(options: ProtocolOptions) -> PlanResult:
    """Count the kernels and measurements of a protocol; nothing is built.

    Raises:
        UsageError: when the file or an option is wrong.
        NoDeviceError: when there is no such device.
        NoCorrectConfigError: when no kernel can be generated.
    """
    protocol = _read(options.file)
    device = choose(options.device or "auto").info
    refuse_precisions(_precisions(protocol), device)
    jobs = [ProtocolJob.of(problems, protocol.name, device) for problems in protocol.problems]
    return PlanResult(file=options.file, device=device, runs=tuple(job.planned() for job in jobs))


def run_protocol(options: ProtocolOptions, show: Show, note: Note) -> ProtocolResult:
    """Run a protocol, new or resumed, and record every measurement.

    Ctrl-C and the time limit end it early, with the results so far.

    Raises:
        UsageError: when the file, an option or the folder is wrong.
        NoDeviceError: when there is no such device.
        NoCorrectConfigError: when no kernel of a group was right.
        MltuneError: when something cannot be written.
    """
    started = time.monotonic()
    limit = options.time_limit_seconds
    end = math.inf if limit is None else started + limit
    protocol = _read(options.file)
    for line in protocol.notes:
        note(line)
    root = _root(options, protocol)
    begun = _begun(root, protocol) if options.resume else None
    policy = _policy(options, protocol, root, begun)
    results: list[RunResult] = []
    interrupted, stopped, lost = False, "", False
    with _runner(options, policy, protocol, root, begun) as runner:
        jobs = [ProtocolJob.of(one, protocol.name, runner.device) for one in protocol.problems]
        make_folder(root)
        write_atomically(root / PROTOCOL_NAME, protocol.text.encode())
        try:
            for job in jobs:
                folder = _folder(root, protocol, job.problems)
                with _open(folder, job, policy, runner.device, options) as run:
                    note(
                        f"run {folder}: {job.problem_type} on {runner.device.name}, "
                        f"{counted(job.kernels, 'kernel')}, "
                        f"{counted(job.measurements, 'measurement')}"
                    )
                    bench = ProtocolBench(run, runner, job.problem_of, job.measurements, end, show)
                    groups: list[GroupResult] = []
                    try:
                        groups += job.carry_out(bench, folder)
                    finally:
                        results.append(_result(run, job, bench, groups))
        except KeyboardInterrupt:
            interrupted = True
        except TimeIsUpError:
            stopped = f"the time limit of {limit:g} s is over"
        except DeviceGoneError as error:
            stopped, lost = str(error), True
        except DiskFullError as error:
            again = command("mltune", "protocol", options.file, "--resume", "--run", root)
            raise error.resumed_by(again) from error
        device = runner.device
    return ProtocolResult(
        file=options.file,
        root=root,
        device=device,
        runs=tuple(results),
        seconds=time.monotonic() - started,
        interrupted=interrupted,
        stopped=stopped,
        lost=lost,
    )


def _read(file: Path) -> Protocol:
    return parse_protocol(read_text(file), str(file))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Policy:
    """The options of all measurements."""

    timing: Timing
    seed: int


def _policy(
    options: ProtocolOptions, protocol: Protocol, root: Path, begun: RunInfo | None
) -> _Policy:
    """Return the options, or those of the resumed run; given ones must agree with it."""
    timing = Timing(
        warmups=WARMUPS,
        samples=options.samples or protocol.samples or DEFAULT_SAMPLES,
        build_timeout_seconds=options.build_timeout_seconds or 60.0,
        run_timeout_seconds=options.run_timeout_seconds or 30.0,
    )
    if begun is None:
        return _Policy(timing=timing, seed=options.seed or 0)
    for option, given, recorded in (
        ("--seed", options.seed, begun.seed),
        ("--samples", options.samples, begun.timing.samples),
        ("--build-timeout", options.build_timeout_seconds, begun.timing.build_timeout_seconds),
        ("--run-timeout", options.run_timeout_seconds, begun.timing.run_timeout_seconds),
    ):
        if given is not None and given != recorded:
            raise UsageError(
                f"{root}: was begun with {option} {recorded:.10g}, got {given:.10g} "
                "(leave it out to resume, or begin another run)"
            )
    return _Policy(timing=begun.timing, seed=begun.seed)


def _precisions(protocol: Protocol) -> tuple[Precision, ...]:
    return tuple(problems.contraction.precision for problems in protocol.problems)


def _runner(
    options: ProtocolOptions,
    policy: _Policy,
    protocol: Protocol,
    root: Path,
    begun: RunInfo | None,
) -> WorkerRunner:
    open_device = partial(
        open_runner,
        family=FAMILY,
        precisions=_precisions(protocol),
        timing=policy.timing,
        seed=policy.seed,
        rest_seconds=options.rest_seconds,
        builders=options.builders,
    )
    if begun is None:
        return open_device(options.device or "auto")
    return reopened(begun.device, options.device, root, open_device)


def _root(options: ProtocolOptions, protocol: Protocol) -> Path:
    """Return the folder of the runs; it has the protocol's text, or gets it."""
    date = datetime.now(UTC).strftime("%Y-%m-%d")
    root = options.folder or RUNS / f"{date}-{options.file.stem}"
    kept = root / PROTOCOL_NAME
    if options.resume:
        if not kept.exists():
            raise UsageError(f"{root}: holds no run of a protocol (it has no {PROTOCOL_NAME})")
        if read_text(kept) != protocol.text:
            raise UsageError(f"{root}: was begun with another text of {options.file.name}")
        return root
    if kept.exists() or (root / INFO_NAME).exists():
        raise UsageError(
            f"{root}: holds a run already; continue with --resume, or give another --run"
        )
    return root


def _folder(root: Path, protocol: Protocol, problems: Problems) -> Path:
    """Return a run's folder; for a single problem type it is the root itself."""
    alone = len(protocol.problems) == 1
    return root if alone else root / problem_type_name(problems.contraction)


def _begun(root: Path, protocol: Protocol) -> RunInfo | None:
    """Return the options of the first run; None if the protocol was cut off before it."""
    folder = _folder(root, protocol, protocol.problems[0])
    return read_info(folder) if (folder / INFO_NAME).exists() else None


def _open(
    folder: Path, job: ProtocolJob, policy: _Policy, device: DeviceInfo, options: ProtocolOptions
) -> Run:
    """Resume the run of a problem type, or make it."""
    if (folder / INFO_NAME).exists():
        return Run.resume(folder)
    groups = job.problems.groups
    final_sizes = tuple(dict.fromkeys(size for one in groups for size in one.final_sizes))
    step_sizes = tuple(dict.fromkeys(size for one in groups for size in one.step_sizes))
    info = RunInfo(
        mltune_version=__version__,
        command=options.command,
        contraction=job.problems.contraction,
        sizes=step_sizes or final_sizes,
        cross_sizes=final_sizes if step_sizes else (),
        space=options.file.name,
        space_text=job.text,
        family=FAMILY.name,
        device=device,
        seed=policy.seed,
        budget=job.kernels,
        sampler=SAMPLER,
        timing=policy.timing,
    )
    return Run.create(folder, info)


def _result(
    run: Run, job: ProtocolJob, bench: ProtocolBench, groups: Sequence[GroupResult]
) -> RunResult:
    best = best_by_problem(run.store.measurements())
    return RunResult(
        folder=run.folder,
        problem=job.problem_type,
        groups=tuple(groups),
        trials=bench.trials,
        failed=bench.failed,
        best=tuple(best[one] for one in run.info.cross_problems if one in best),
    )
