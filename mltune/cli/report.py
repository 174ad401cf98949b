"""`mltune report`: a run as one HTML file."""

from __future__ import annotations

import argparse
from pathlib import Path

from mltune.cli.output import ProgressBar, print_json

EXAMPLE = "mltune report runs/2026-11-21-sgemm-nn-nvidia-h200 -o report.html"


def declare(parser: argparse.ArgumentParser) -> None:
    """Add this verb's options."""
    add = parser.add_argument
    add("run_folder", type=Path, metavar="RUN", help="a run folder")
    add(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="the HTML file to write (default: RUN/report.html)",
    )


def run(args: argparse.Namespace) -> int:
    """Write it, and say where it is."""
    from mltune.workflow.report import report

    with ProgressBar(args.quiet > 0) as bar:
        result = report(args.run_folder, args.output, bar.show)
    if args.json:
        print_json(result.to_json())
        return 0
    print(f"report: {result.path} ({result.bytes:,} bytes, open it in a browser)")
    print(f"next: {result.next_command}")
    return 0
