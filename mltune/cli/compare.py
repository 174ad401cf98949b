"""`mltune compare`: runs side by side."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from mltune.cli.output import kernel_letters, print_json, print_kernels, print_table

if TYPE_CHECKING:
    from mltune.workflow.compare import CompareResult

EXAMPLE = "mltune compare runs/here runs/there"

_MOST_ROWS = 60  # with more rows the table has one row per size


def declare(parser: argparse.ArgumentParser) -> None:
    """Add this verb's options."""
    parser.add_argument(
        "runs", type=Path, nargs="+", metavar="RUN", help="run folders; the first is the baseline"
    )


def run(args: argparse.Namespace) -> int:
    """Print a row for each kernel on each size that all runs have, or a row for each size."""
    from mltune.workflow.compare import compare

    result = compare(args.runs)
    if args.json:
        print_json(result.to_json())
    else:
        _print(result)
    return 0


def _print(result: CompareResult) -> None:
    for number, one in enumerate(result.runs):
        info = one.info
        print(
            f"{number}: {one.folder}: {info.device.name_and_driver}, {info.created[:10]}, "
            f"alpha {info.alpha}, beta {info.beta}, caches {info.timing.cache}"
        )
    if len(result.rows) > _MOST_ROWS:
        _print_sizes(result)
    else:
        _print_kernels(result)
    means = ", ".join(
        f"{number} / 0: {mean:.4g}"
        for number in range(1, len(result.runs))
        if (mean := result.geomean(result.rows, number)) is not None
    )
    print(f"GFLOP/s by kernel time; geometric means of the ratios: {means or 'none'}")


def _print_kernels(result: CompareResult) -> None:
    numbers = range(len(result.runs))
    letters = kernel_letters(row[0].label for row in result.rows)
    print_table(
        (
            "size",
            "k",
            *(cell for number in numbers for cell in (f"mean {number}", f"std {number}")),
            *(f"{number} / 0" for number in numbers[1:]),
        ),
        [
            (
                row[0].problem.label,
                letters[row[0].label],
                *(cell for one in row for cell in (one.mean, one.deviation)),
                *(result.ratio(row, number) for number in numbers[1:]),
            )
            for row in result.rows
        ],
    )
    print_kernels(letters)


def _print_sizes(result: CompareResult) -> None:
    numbers = range(len(result.runs))
    print_table(
        (
            "size",
            "kernels",
            *(f"best {number}" for number in numbers),
            *(f"{number} / 0" for number in numbers[1:]),
        ),
        [
            (
                rows[0][0].problem.label,
                len(rows),
                *(result.best(rows, number) for number in numbers),
                *(result.geomean(rows, number) for number in numbers[1:]),
            )
            for rows in result.by_size()
        ],
    )
    print(f"best: of the kernels that all runs have; all {len(result.rows):,} rows: --json")
