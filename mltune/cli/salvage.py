"""`mltune salvage`: saves the readable part of a damaged run."""

from __future__ import annotations

import argparse
from pathlib import Path

from mltune.cli.output import print_json
from mltune.counted import counted
from mltune.shell import command

EXAMPLE = "mltune salvage runs/here -o runs/salvaged"


def declare(parser: argparse.ArgumentParser) -> None:
    """Add this verb's options."""
    add = parser.add_argument
    add("run_folder", type=Path, metavar="RUN", help="the damaged run's folder; it is not changed")
    add("-o", "--output", type=Path, required=True, metavar="DIR", help="the new run's folder")


def run(args: argparse.Namespace) -> int:
    """Save, and print what is lost; return 1 if `run.json` is."""
    from mltune.workflow.salvage import salvage

    result = salvage(args.run_folder, args.output)
    if args.json:
        print_json(result.to_json())
    else:
        print(f"{result.folder}: {counted(result.measurements, 'measurement')} saved")
        for line in result.lost:
            print(f"lost: {line}")
        if result.info_error:
            print(f"lost: {result.info_error}")
        else:
            print(f"next: {command('mltune', 'report', result.folder)}")
    return 1 if result.info_error else 0
