"""`mltune bench`: the tuned library beside others."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mltune.cli.output import Cell, print_json, print_table, table_width
from mltune.cli.parser import names, positive, seconds, seed
from mltune.cli.progress_bar import ProgressBar
from mltune.cli.terminal import columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mltune.bench.comparison import SizeResult
    from mltune.workflow.bench import BenchResult

_FIGURES = ("kernel", "best", "call", "best", "error")

EXAMPLE = "mltune bench nvidia-h200/sgemm_nn --against cublas,clblast --sizes deepbench-nn"


def declare(parser: argparse.ArgumentParser) -> None:
    """Add this verb's options."""
    add = parser.add_argument
    add(
        "selector",
        nargs="?",
        type=Path,
        metavar="SELECTOR",
        help="a selector of mltune distil; without one only the other libraries are compared",
    )
    add(
        "--against",
        type=names,
        default="clblast,cublas,numpy",
        metavar="NAMES",
        help="libraries; missing ones are named and skipped (default: clblast,cublas,numpy)",
    )
    add(
        "--sizes",
        metavar="S",
        help="as of search (default: up to 40 of those the selector was tuned for)",
    )
    add("--problem", metavar="P", help="problem type (default: the selector's, or sgemm_nn)")
    add("--device", metavar="D", help="OpenCL device, as of search (default: auto)")
    add(
        "--rounds",
        type=positive,
        default=9,
        metavar="N",
        help="samples of each library, taken in turns (default: 9)",
    )
    add(
        "--time-limit",
        type=seconds,
        metavar="SECONDS",
        help="begin no further size after this time, builds included (default: none)",
    )
    add("--seed", type=seed, default=0, metavar="N", help="of the numbers (default: 0)")
    add(
        "--figure",
        type=Path,
        metavar="FILE",
        help="an .svg file: ratios by size, and a roofline (default: none)",
    )


def run(args: argparse.Namespace) -> int:
    """Compare, and print the tables."""
    from mltune.workflow.bench import BenchOptions, bench

    with ProgressBar(quiet=args.quiet > 0) as bar:
        result = bench(
            BenchOptions(
                selector=args.selector,
                against=args.against,
                sizes=args.sizes,
                problem=args.problem,
                device=args.device,
                rounds=args.rounds,
                seed=args.seed,
                figure=args.figure,
                time_limit_seconds=args.time_limit,
            ),
            bar.show,
            bar.note,
        )
    if args.json:
        print_json(result.to_json())
        if warning := result.comparison.warning:
            print(f"warning: {warning}", file=sys.stderr)
        return 0
    _print(result)
    return 0


def _print(result: BenchResult) -> None:
    print(f"{result.problem_type}, {result.date}, medians of {result.rounds} rounds in turns")
    for name, description in result.contestants:
        print(f"  {name}: {description}")
    for name, reason in result.absent:
        print(f"  {name}: left out, {reason}")
    names = [name for name, _ in result.contestants]
    print(
        "\nGFLOP/s, median and best, by kernel time (in a sequence of calls on a busy device) and "
        "by call time (by the host, with its waits), and error:"
    )
    print_speeds(result.comparison.results, names)
    for reason in sorted({r for one in result.comparison.results for r in one.refusals.values()}):
        print(f"-: {reason}")
    if result.ratios:
        print(f"\nspeed of {names[0]} / speed of the other:")
        print_table(
            ("against", "clock", "sizes", "geomean", "of best samples", "worst size", "best size"),
            [
                (r.against, r.clock, len(r.by_size), r.geomean, r.geomean_of_best, r.worst, r.best)
                for r in result.ratios
            ],
        )
    if left_out := result.sizes_left_out:
        asked = len(result.comparison.results) + left_out
        print(f"\nthe time limit left out {left_out} of {asked} sizes")
    if warning := result.comparison.warning:
        print(f"\nwarning: {warning}")
    print(
        "\nerror: Frobenius norm relative to the result's, against float64, standard normal data"
    )
    if result.figure:
        print(f"figure: {result.figure}")


def print_speeds(results: Sequence[SizeResult], names: list[str]) -> None:
    """Print one table, or one for each library if the terminal is too narrow."""
    header = ["size"]
    for name in names:
        header += [f"{name} kernel", *_FIGURES[1:]]
    rows = [_row(one, names) for one in results]
    disturbed = [(one.problem.label, "; ".join(one.disturbances)) for one in results]
    if any(why for _, why in disturbed):
        header.append("disturbed")
        rows = [[*row, why] for row, (_, why) in zip(rows, disturbed, strict=True)]
    room = columns()
    if room is None or table_width(header, rows) <= room:
        print_table(header, rows)
        return
    for name in names:
        print(f"{name}:")
        print_table(("size", *_FIGURES), [_row(one, [name]) for one in results])
        print()
    if any(why for _, why in disturbed):
        print_table(("size", "disturbed"), disturbed)


def _row(one: SizeResult, names: list[str]) -> list[Cell]:
    row: list[Cell] = [one.problem.label]
    for name in names:
        timing = one.timings.get(name)
        if timing is None:
            row += [None] * len(_FIGURES)
            continue
        times = (timing.kernel_median, timing.kernel_best, timing.call_median, timing.call_best)
        row += [one.problem.flops / seconds / 1e9 if seconds else None for seconds in times]
        row.append(timing.error)
    return row
