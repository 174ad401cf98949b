"""`mltune report`: a run as one HTML file."""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress
from pathlib import Path

from mltune.cli.output import print_json
from mltune.cli.parser import whole
from mltune.cli.progress_bar import ProgressBar
from mltune.errors import UsageError

EXAMPLE = "mltune report runs/2026-11-21-sgemm-nn-nvidia-h200 -o report.html"
_PORT = 8420


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
    add(
        "--against",
        type=Path,
        metavar="RUN2",
        help="another run of the same problem type, compared on the sizes that both have",
    )
    add(
        "--live",
        action="store_true",
        help="follow a running search in a browser on this host, until Ctrl-C",
    )
    add(
        "--port",
        type=whole,
        metavar="N",
        help="of --live; 0 is any that is free (default: 8420)",
    )


def run(args: argparse.Namespace) -> int:
    """Write it, and print its path."""
    from mltune.workflow.report import report

    if args.live:
        return _follow(args)
    if args.port is not None:
        raise UsageError("report: --port needs --live")
    with ProgressBar(args.quiet > 0) as bar:
        result = report(args.run_folder, args.output, bar.show, other=args.against)
    if args.json:
        print_json(result.to_json())
        return 0
    print(f"report: {result.path} ({result.bytes:,} bytes, open it in a browser)")
    print(f"next: {result.next_command}")
    return 0


def _follow(args: argparse.Namespace) -> int:
    """Serve the page until it is interrupted, which is a success."""
    from mltune.workflow.live_report import REFRESH_SECONDS, serve

    for option, value in (("-o", args.output), ("--against", args.against)):
        if value is not None:
            raise UsageError(f"report: {option} cannot go with --live")
    port = _PORT if args.port is None else args.port
    with serve(args.run_folder, port) as (address, run_server), suppress(KeyboardInterrupt):
        if args.json:
            print_json({"address": address})
        else:
            print(f"live: {address} (reloads every {REFRESH_SECONDS} s; Ctrl-C ends it)")
        sys.stdout.flush()
        run_server()
    return 0
