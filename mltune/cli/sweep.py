"""`mltune sweep`: GEMMbench's experiments."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mltune.cli.output import Cell, print_json, print_table
from mltune.cli.parser import names, number, positive, seed
from mltune.cli.progress_bar import ProgressBar
from mltune.errors import UsageError
from mltune.shell import command

if TYPE_CHECKING:
    from mltune.report.experiments import Experiment
    from mltune.workflow.sweep import SweepResult

EXAMPLE = "mltune sweep spaces/handwritten --sizes gemmbench --repetitions 4 --figure sweep.svg"

_MOST_COLUMNS = 6


def declare(parser: argparse.ArgumentParser) -> None:
    """Add this verb's options."""
    add = parser.add_argument
    add(
        "kernels",
        type=Path,
        nargs="*",
        metavar="FILE",
        help="hand-written kernels: JSON files in GEMMbench's form, or folders of them; what "
        "their sources say is run on the device",
    )
    add("--sizes", metavar="S", help="as of search (default: gemmbench, squares of 64 to 1024)")
    add(
        "--local",
        metavar="L",
        default="8x8",
        help="work-groups separated by commas, 8x8,1x16, or 'all' for each kernel's own list "
        "(default: 8x8)",
    )
    add("--repetitions", type=positive, default=4, metavar="N", help="of all (default: 4)")
    add("--alpha", type=number, default=1.0, metavar="X", help="factor of A * B (default: 1)")
    add("--beta", type=number, default=0.1, metavar="X", help="factor of the old C (default: 0.1)")
    add("--samples", type=positive, metavar="N", help="launches a repetition (default: 7)")
    add("--device", metavar="D", help="as of search (default: auto)")
    add("--cache", metavar="STATE", help="warm or cold (default: warm)")
    add(
        "--observe",
        type=names,
        metavar="NAMES",
        help="nvml and/or rapl: energy, clocks (default: none)",
    )
    add("--seed", type=seed, default=0, metavar="N", help="of the data (default: 0)")
    add("-o", "--run", type=Path, metavar="DIR", help="the run's folder (default: as of search)")
    add("--resume", action="store_true", help="continue a sweep that was interrupted")
    add("--figure", type=Path, metavar="FILE", help="an .svg file of bars (default: none)")


def run(args: argparse.Namespace) -> int:
    """Measure, and print a row for every experiment."""
    from mltune.workflow.sweep import SweepOptions, sweep

    options = SweepOptions(
        kernels=tuple(args.kernels),
        sizes=args.sizes,
        local_sizes=None if args.local == "all" else _local_sizes(args.local),
        repetitions=args.repetitions,
        alpha=args.alpha,
        beta=args.beta,
        samples=args.samples,
        device=args.device,
        cache=args.cache,
        observers=args.observe,
        seed=args.seed,
        folder=args.run,
        resume=args.resume,
        figure=args.figure,
        command=("mltune", *sys.argv[1:]),
    )
    with ProgressBar(args.quiet > 0) as bar:
        result = sweep(options, bar.show)
    if args.json:
        print_json(result.to_json())
    else:
        _print(result)
    if result.stopped:
        again = command("mltune", "sweep", "--resume", "--run", result.run)
        print(f"{result.stopped}; continue with: {again}", file=sys.stderr)
    return result.exit_code


def _local_sizes(text: str) -> tuple[tuple[int, int], ...]:
    pairs = []
    for word in text.split(","):
        match = re.fullmatch(r"([1-9][0-9]{0,4})x([1-9][0-9]{0,4})", word.strip())
        if match is None:
            raise UsageError(f"sweep: --local: expected 8x8,1x16 or all, got '{text}'")
        pairs.append((int(match[1]), int(match[2])))
    return tuple(pairs)


def _print(result: SweepResult) -> None:
    from mltune.measurement import Status
    from mltune.runner.observe import ENERGY

    for name, words in result.conditions:
        print(f"{name}: {words}")
    most = max((len(one.repetitions) for one in result.experiments), default=0)
    shown = most if most <= _MOST_COLUMNS else 0
    with_energy = any(one.observed(ENERGY) is not None for one in result.experiments)
    listed = [one for one in result.experiments if one.status is not Status.INVALID]
    header = ("id", "kernel", "local", "size", *map(str, range(shown)), "mean", "std")
    print_table(
        (*header, *(["mJ"] if with_energy else []), "max error", "bound", "verdict"),
        [_row(one, shown, [ENERGY] if with_energy else []) for one in listed],
    )
    if invalid := [one for one in result.experiments if one not in listed]:
        why = f"{invalid[0].label} {invalid[0].problem.label}: {invalid[0].first.message}"
        print(f"{len(invalid)} more are invalid, as {why} (--json has all)")
    print("GFLOP/s of each repetition, their mean, and the standard deviation of a sample")
    print(f"id: {command('mltune', 'replay', result.run)} ID")
    print(f"pictures: {command('mltune', 'report', result.run)}")
    if result.figure:
        print(f"figure: {result.figure}")


def _row(one: Experiment, shown: int, energies: Sequence[str]) -> list[Cell]:
    kernel, _, local = one.label.rpartition(" ")
    joules = [one.observed(name) for name in energies]
    speeds = list(one.gflops[:shown]) + [None] * (shown - len(one.gflops))
    return [
        one.first.id,
        kernel,
        local,
        one.problem.label,
        *speeds,
        one.mean,
        one.deviation,
        *(None if each is None else each * 1e3 for each in joules),
        one.max_error,
        one.first.error_bound,
        one.status.value,
    ]
