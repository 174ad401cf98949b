"""`mltune worker`: adds a device, process or host to a search."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from mltune.cli.options import declare_builders, import_from_here
from mltune.cli.output import duration_text, print_json
from mltune.cli.parser import seconds
from mltune.cli.progress_bar import ProgressBar
from mltune.counted import counted
from mltune.errors import UsageError

EXAMPLE = "mltune worker --storage postgresql+psycopg://tuner@db.example.org/tuning --device gpu"


def declare(parser: argparse.ArgumentParser) -> None:
    """Add this verb's options."""
    add = parser.add_argument
    add(
        "--storage",
        metavar="URL",
        help="the database that the search was begun with (default: $MLTUNE_STORAGE)",
    )
    add(
        "--device",
        default="auto",
        metavar="D",
        help="auto, cpu, gpu, P:D, or a part of a name; all: a worker for each device of auto's "
        "platform (default: auto)",
    )
    add("--study", metavar="ID", help="which study of the database (default: the newest)")
    add(
        "--sampler",
        metavar="NAME",
        help="the study's sampler; needed if it is module:Class, because mltune runs no code that "
        "only a database names (default: the study's)",
    )
    add(
        "-o",
        "--run",
        type=Path,
        metavar="DIR",
        help="make a folder from which train, distil and report read this device's run "
        "(default: none)",
    )
    declare_builders(add)
    add(
        "--time-limit",
        type=seconds,
        metavar="SECONDS",
        help="begin no trial after this time; other workers do the rest (default: none)",
    )

    add(
        "--wait",
        type=seconds,
        default=0.0,
        metavar="SECONDS",
        help="wait so long until the study exists (default: 0)",
    )


def run(args: argparse.Namespace) -> int:
    """Work until nothing is left to do, and print what was done."""
    from mltune.problem import problem_type_name
    from mltune.tuning.local_workers import STORAGE_VARIABLE
    from mltune.tuning.search_options import ALL_DEVICES
    from mltune.workflow.worker import WorkerOptions, work, work_on_all

    import_from_here(args.sampler)
    storage = args.storage or os.environ.get(STORAGE_VARIABLE)
    if not storage:
        raise UsageError(f"worker: needs --storage URL, or {STORAGE_VARIABLE} to be set")
    options = WorkerOptions(
        storage=storage,
        device=args.device,
        study=args.study,
        sampler=args.sampler,
        folder=args.run,
        builders=args.builders,
        time_limit_seconds=args.time_limit,
        wait_seconds=args.wait,
        command=("mltune", *sys.argv[1:]),
    )
    with ProgressBar(args.quiet > 0) as bar:
        if args.device == ALL_DEVICES:
            return _say_all(work_on_all(options, bar.note), args.json)
        result = work(options, bar.show, bar.note)
    if args.json:
        print_json(result.to_json())
        return result.exit_code
    counts = result.counts
    state = "all done" if counts.concluded else "interrupted" if result.interrupted else "left"
    print(
        f"study {result.study}, {problem_type_name(result.info.contraction)} on "
        f"{result.info.device.name}: {counted(result.trials, 'trial')} here, {result.in_all} "
        f"in all, {duration_text(result.seconds)}; {result.stopped or state}"
    )
    return result.exit_code


def _say_all(results: list[dict[str, Any]], as_json: bool) -> int:
    if as_json:
        print_json({"workers": results})
    else:
        for one in results:
            why = f"; {one['stopped']}" if one["stopped"] else ""
            done = counted(one["trials"], "trial")
            print(f"{one['device']}: {done}, {one['seconds']:.0f} s{why}")
    return max(int(one["exit_code"]) for one in results)
