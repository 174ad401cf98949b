"""`mltune import`: other programs' files, and bundles, in mltune's own form."""

from __future__ import annotations

import argparse
from pathlib import Path

from mltune.cli.convert import print_converted
from mltune.cli.output import print_json

EXAMPLE = "mltune import h200.json.gz"


def declare(parser: argparse.ArgumentParser) -> None:
    """Add this verb's options."""
    add = parser.add_argument
    add(
        "files",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="bundles of mltune (to runs), records of Kernel Tuner, T4 and CLBlast's tuners (to "
        "T4, for --replay and --prior), Tensile's YAML (to sizes), T1 (to a space), GEMMbench's "
        "JSON (checked and copied)",
    )
    add(
        "-o",
        "--output",
        type=Path,
        metavar="DIR",
        help="the folder to write into (default: imported, or runs for a bundle)",
    )


def run(args: argparse.Namespace) -> int:
    """Import, and print the results."""
    from mltune.workflow.exchange import import_files

    results = import_files(args.files, args.output)
    if args.json:
        print_json({"imported": [result.to_json() for result in results]})
        return 0
    for result in results:
        print_converted(result)
    return 0
