"""`mltune distil`: a portfolio and a rule."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mltune.cli.output import print_json, print_table
from mltune.cli.parser import fraction, positive, seed
from mltune.cli.progress_bar import ProgressBar
from mltune.counted import counted

if TYPE_CHECKING:
    from mltune.distil import LeftOut
    from mltune.workflow.distil import DistilResult

_NAMED = 3
"""Sizes that are named for each reason; --json has all."""

EXAMPLE = "mltune distil runs/2026-11-21-sgemm-nn-nvidia-h200 --max-kernels 8 -o h200"


def declare(parser: argparse.ArgumentParser) -> None:
    """Add this verb's options."""
    add = parser.add_argument
    add("runs", nargs="+", type=Path, metavar="RUN", help="run folders")
    add(
        "-o",
        "--output",
        type=Path,
        metavar="SELECTOR",
        help="a .json file, or a folder for selector.json (default: models/<device>/<problem>)",
    )
    add(
        "--method",
        default="auto",
        metavar="NAME",
        help="the kind of rule: taught (a tree that learns from a model of the times), "
        "formulas (one for each kernel's time), tree (learns from the measured sizes alone), "
        "tensile (thresholds of M, then N, then K), autogemm (thresholds of M*N, tiles that fit "
        "exactly, a fallback), or auto: the taught tree unless it loses more than 0.3 %% to its "
        "teacher or to another rule; then the better of formulas and tree in cross-validation, "
        "or a single kernel if neither beats it (default: auto)",
    )
    add(
        "--tolerance",
        type=fraction,
        default=0.02,
        metavar="X",
        help="a kernel this much slower than a size's best counts as best (default: 0.02)",
    )
    add(
        "--max-kernels",
        type=positive,
        default=40,
        metavar="N",
        help="the most kernels to ship (default: 40)",
    )
    add(
        "--max-depth",
        type=positive,
        default=8,
        metavar="N",
        help="the most questions of the tree (default: 8)",
    )
    add(
        "--held-out",
        type=fraction,
        default=0.25,
        metavar="X",
        help="share of the sizes that each judging fit does not see (default: 0.25)",
    )
    add("--seed", type=seed, default=0, metavar="N", help="of the split (default: 0)")
    add(
        "--suggest",
        type=positive,
        default=0,
        metavar="N",
        help="name N sizes whose measurement would help most, and the command that measures them "
        "(default: 0)",
    )


def run(args: argparse.Namespace) -> int:
    """Distil, and print the regret table."""
    from mltune.workflow.distil import DistilOptions, distil_runs

    options = DistilOptions(
        runs=tuple(args.runs),
        output=args.output,
        method=args.method,
        tolerance=args.tolerance,
        max_kernels=args.max_kernels,
        max_depth=args.max_depth,
        held_out=args.held_out,
        seed=args.seed,
        suggest=args.suggest,
    )
    with ProgressBar(args.quiet > 0) as bar:
        result = distil_runs(options, bar.show)
    if args.json:
        print_json(result.to_json())
        return 0
    _print_shape(result)
    _print_left_out(result.left_out)
    if result.rows:
        print(
            "\nspeed of the chosen kernel / best known, on "
            f"{counted(result.rows[0].regret.sizes, 'size')}, each judged by a fit "
            "that did not see it:"
        )
        print_table(
            ("rule", "geomean", "10th pct", "worst", "within 5 %", "at"),
            [
                (
                    row.rule,
                    row.regret.geomean,
                    row.regret.p10,
                    row.regret.worst,
                    f"{row.within_5_percent:.0%}",
                    row.regret.worst_size,
                )
                for row in result.rows
            ],
        )
    for number, line in enumerate(result.notes):
        print(f"{'' if number else chr(10)}{line}")
    if result.suggested:
        print(f"\nmeasuring these sizes would help most:\n  {result.suggestion}")
    if result.next_command:
        print(f"\nnext: {result.next_command}")
    return 0


def _print_shape(result: DistilResult) -> None:
    kernels, leaves, depth = result.shape
    formulas, exact = len(result.selector.formulas), len(result.selector.exact)
    how = f"a tree of {leaves} leaves and depth {depth}"
    if formulas:
        how = f"a formula for the time of {'each' if formulas == kernels else formulas}"
    elif leaves == 1:
        how = "one for all other sizes"
    if kernels == 1:
        print(f"1 kernel for all sizes: {result.path}")
    else:
        print(f"{kernels} kernels, {counted(exact, 'exact size')}, {how}: {result.path}")


def _print_left_out(left_out: Sequence[LeftOut]) -> None:
    """Print the sizes by their reasons, the first few of each by name."""
    by_reason: dict[str, list[str]] = {}
    for one in left_out:
        by_reason.setdefault(one.reason, []).append(one.size.label)
    if by_reason:
        are = "is no exact size" if len(left_out) == 1 else "are no exact sizes"
        print(f"\n{counted(len(left_out), 'size')} of the runs {are}, the rule answers:")
    for reason, labels in by_reason.items():
        more = f", and {len(labels) - _NAMED} more" if len(labels) > _NAMED else ""
        print(f"  {', '.join(labels[:_NAMED])}{more}: {reason}")
