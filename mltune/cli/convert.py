"""`mltune convert`: files and runs in other forms."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mltune.cli.output import print_json

if TYPE_CHECKING:
    from mltune.workflow.exchange import Converted

EXAMPLE = "mltune convert runs/2026-11-21-sgemm-nn-nvidia-h200 --to bundle -o h200.json.gz"


def declare(parser: argparse.ArgumentParser) -> None:
    """Add this verb's options."""
    add = parser.add_argument
    add("source", type=Path, metavar="FILE", help="a run folder, or any file that import takes")
    add(
        "--to",
        required=True,
        metavar="FORM",
        help="of a run: bundle (one file to hand on), t4, kernel-tuner, csv, logic "
        "(Tensile's), gemmbench (its hand-written kernels); of a bundle: run; of a tuner's "
        "record: t4, kernel-tuner, csv; of a space: t1; of T1: space; of Tensile's YAML: sizes, "
        "space, and selector of its logic; of a selector: logic; of AutoGEMM's data: selectors, "
        "space",
    )
    add("-o", "--output", type=Path, required=True, metavar="OUT", help="what to write")
    add(
        "--licence",
        default="not stated",
        metavar="TEXT",
        help="licence of a bundle's rows, such as CC-BY-4.0 (default: not stated)",
    )


def run(args: argparse.Namespace) -> int:
    """Convert, and print the results."""
    from mltune.workflow.exchange import convert

    result = convert(args.source, args.to, args.output, args.licence)
    if args.json:
        print_json(result.to_json())
        return 0
    print_converted(result)
    return 0


def print_converted(result: Converted) -> None:
    """Print the files that were written; notes about what is missing go to stderr."""
    for line in result.notes:
        print(f"mltune: note: {line}", file=sys.stderr)
    print(f"{result.source}: {result.kind}, as {result.target}:")
    for file in result.files:
        print(f"  {file}")
    if result.next_command:
        print(f"next: {result.next_command}")
