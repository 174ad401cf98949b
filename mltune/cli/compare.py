"""`mltune compare`: runs side by side."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from mltune.cli.output import print_json, print_table

if TYPE_CHECKING:
    from mltune.workflow.compare import CompareResult

EXAMPLE = "mltune compare runs/here runs/there"


def declare(parser: argparse.ArgumentParser) -> None:
    """Add this verb's options."""
    parser.add_argument(
        "runs", type=Path, nargs="+", metavar="RUN", help="run folders; the first is the measure"
    )


def run(args: argparse.Namespace) -> int:
    """Print a row for each kernel on each size that all runs have."""
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
            f"{number}: {one.folder}: {info.device.name} ({info.device.platform} "
            f"{info.device.driver_version}), {info.created[:10]}, alpha {info.alpha}, "
            f"beta {info.beta}, caches {info.timing.cache}"
        )
    others = range(1, len(result.runs))
    header = ["kernel", "size"]
    for number in range(len(result.runs)):
        header += [f"mean {number}", f"std {number}"]
    print_table(
        (*header, *(f"{number} / 0" for number in others)),
        [
            (
                row[0].label,
                row[0].problem.label,
                *(cell for one in row for cell in (one.mean, one.deviation)),
                *(result.ratio(row, number) for number in others),
            )
            for row in result.rows
        ],
    )
    means = ", ".join(
        f"{number} / 0: {mean:.4g}"
        for number in others
        if (mean := result.geomean(number)) is not None
    )
    print(f"GFLOP/s by kernel time; geometric means of the ratios: {means or 'none'}")
