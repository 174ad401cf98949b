"""`mltune protocol`: Tensile's seven-step benchmark protocol."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mltune.cli.options import declare_builders, declare_limits
from mltune.cli.output import conclude, print_json, print_table
from mltune.cli.parser import positive, seconds, seed
from mltune.cli.progress_bar import ProgressBar
from mltune.counted import counted
from mltune.shell import command

if TYPE_CHECKING:
    from mltune.compat.tensile.protocol_result import GroupResult, PlanResult, ProtocolResult

EXAMPLE = "mltune protocol spaces/protocols/seven-steps.yaml --dry-run"


def declare(parser: argparse.ArgumentParser) -> None:
    """Add this verb's options."""
    add = parser.add_argument
    add("file", type=Path, metavar="FILE", help="a YAML file as Tensile reads it")
    add("--dry-run", action="store_true", help="count kernels and measurements, and build nothing")
    add(
        "--device",
        metavar="D",
        help="auto (a GPU if there is one, else PoCL), cpu, gpu, P:D, or a part of a name "
        "(default: auto)",
    )
    add(
        "-o",
        "--run",
        type=Path,
        metavar="DIR",
        help="the run's folder; several problem types get folders in it "
        "(default: runs/<date>-<file>)",
    )
    add("--resume", action="store_true", help="continue a run that was interrupted")
    add("--seed", type=seed, metavar="N", help="of the data (default: 0)")
    add(
        "--samples",
        type=positive,
        metavar="N",
        help="timed launches a size (default: SyncsPerBenchmark * EnqueuesPerSync, or 7)",
    )
    declare_limits(add)
    declare_builders(add)
    add(
        "--time-limit",
        type=seconds,
        metavar="SECONDS",
        help="begin no measurement after this time (default: none)",
    )


def run(args: argparse.Namespace) -> int:
    """Run the steps, and print the kernels that each of them kept."""
    from mltune.workflow.protocol import ProtocolOptions, plan_protocol, run_protocol

    options = ProtocolOptions(
        file=args.file,
        folder=args.run,
        resume=args.resume,
        device=args.device,
        seed=args.seed,
        samples=args.samples,
        build_timeout_seconds=args.build_timeout,
        run_timeout_seconds=args.run_timeout,
        builders=args.builders,
        rest_seconds=args.rest or 0.0,
        time_limit_seconds=args.time_limit,
        command=("mltune", *sys.argv[1:]),
    )
    if args.dry_run:
        planned = plan_protocol(options)
        if args.json:
            print_json(planned.to_json())
        else:
            _print_plan(planned)
        return 0
    with ProgressBar(args.quiet > 0) as bar:
        result = run_protocol(options, bar.show, bar.note)
    conclude(result, _print_result, as_json=args.json)
    return result.exit_code


def _print_plan(planned: PlanResult) -> None:
    for one in planned.runs:
        print(
            f"{one.problem}: {counted(one.kernels, 'kernel')}, "
            f"{counted(one.measurements, 'measurement')}"
        )
        for number, group in enumerate(one.groups, start=1):
            _print_group(number, group)
    print(f"counted for {planned.device.name}, nothing was built")


def _print_result(result: ProtocolResult) -> None:
    for one in result.runs:
        failed = f", {one.failed} failed" if one.failed else ""
        print(
            f"{one.problem} on {result.device.name}: "
            f"{counted(one.trials, 'kernel')} measured{failed}"
        )
        for number, group in enumerate(one.groups, start=1):
            _print_group(number, group)
        if one.best:
            speeds = [best.gflops or 0.0 for best in one.best]
            kernels = len({best.kernel for best in one.best})
            print(
                f"sizes: {len(one.best)}, kernels that are fastest somewhere: {kernels}, up to "
                f"{max(speeds):,.1f} GFLOP/s: {command('mltune', 'report', one.folder)}"
            )


def _print_group(number: int, group: GroupResult) -> None:
    print(f"group {number}, sizes at the end: {group.sizes}")
    print_table(
        ("step", "", "compared", "refused", "kernels"),
        [(step.number, step.name, step.compared, step.refused, step.kept) for step in group.steps],
    )
