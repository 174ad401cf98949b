"""`mltune train`: the cost model."""

from __future__ import annotations

import argparse
from pathlib import Path

from mltune.cli.output import print_json, print_table
from mltune.cli.parser import seed
from mltune.cli.progress_bar import ProgressBar
from mltune.counted import counted

EXAMPLE = "mltune train runs/2026-11-21-sgemm-nn-nvidia-h200 -o h200"


def declare(parser: argparse.ArgumentParser) -> None:
    """Add this verb's options."""
    add = parser.add_argument
    add("runs", nargs="+", type=Path, metavar="RUN", help="run folders")
    add(
        "-o",
        "--output",
        type=Path,
        metavar="MODEL",
        help="the model's folder (default: models/<device>/<problem>)",
    )
    add(
        "--others",
        nargs="+",
        type=Path,
        default=(),
        metavar="RUN",
        help="runs of other devices, used if they reduce the error (default: none)",
    )
    add("--seed", type=seed, default=0, metavar="N", help="of the fit and the split (default: 0)")


def run(args: argparse.Namespace) -> int:
    """Train, and print the scores of the model."""
    from mltune.shell import shell_path
    from mltune.workflow.train import train

    with ProgressBar(args.quiet > 0) as bar:
        result = train(args.runs, args.output, args.seed, args.others, show=bar.show)
    if args.json:
        print_json(result.to_json())
        return 0
    scores = result.model.scores
    print(f"cost model from {counted(result.model.rows, 'measurement')}: {result.folder}")
    if scores is not None:
        print(
            f"\non {counted(scores.sizes, 'size')}, each predicted by a model that did not see it:"
        )
        rows = [("this model", scores)]
        if result.is_helped and result.alone is not None:
            rows.append(("without the other devices", result.alone))
        print_table(
            ("", "error of log time (rms)", "rank correlation", "top-1 speed", "top-5 speed"),
            [(name, s.rmse_log, s.spearman, s.top_1, s.top_5) for name, s in rows],
        )
        if result.alone is not None and not result.is_helped:
            print("the other devices' rows made the error larger: they are left out")
        print("top-n speed: best measured of the n predicted fastest / best measured of all")
    size = "x".join(str(extent) for extent in result.example_size)
    print(f"\nnext: mltune predict {shell_path(result.folder)} {size} --top 5 --measure")
    return 0
