"""`mltune trace`: the GEMM calls of a program."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from mltune.cli.output import Cell, conclude, number_text, print_table, short_number
from mltune.counted import counted

if TYPE_CHECKING:
    from mltune.workflow.trace import TraceResult

EXAMPLE = "mltune trace -o calls.csv -- python train.py --epochs 1"
_MOST_ROWS = 20


def declare(parser: argparse.ArgumentParser) -> None:
    """Add this verb's options."""
    add = parser.add_argument
    add(
        "-o",
        "--output",
        type=Path,
        default=Path("calls.csv"),
        metavar="CALLS",
        help="the CSV file to write, for mltune tune --for (default: calls.csv)",
    )
    add(
        "--wait",
        action="store_true",
        help="wait for the device around each OpenCL call, so that its time is known; slows the "
        "program down",
    )
    add(
        "program",
        nargs=argparse.REMAINDER,
        metavar="PROGRAM",
        help="the program with its arguments, after --",
    )


def run(args: argparse.Namespace) -> int:
    """Trace, print the calls, and exit with the program's code, or 1 if they are in no file."""
    from mltune.workflow.trace import TraceOptions, trace

    words = args.program[1:] if args.program[:1] == ["--"] else args.program
    result = trace(
        TraceOptions(
            program=tuple(words),
            output=args.output,
            wait=args.wait,
            keeps_output=not args.json,
        )
    )
    conclude(result, _print, as_json=args.json)
    return result.program_code or int(bool(result.unwritten))


def _print(result: TraceResult) -> None:
    from mltune.problem import problem_type_name
    from mltune.problem.call_file import calls_text
    from mltune.workflow.trace import share

    calls = result.calls
    if calls:
        rows: list[tuple[Cell, ...]] = []
        for each in calls[:_MOST_ROWS]:
            part = share(each, calls)
            rows.append(
                (
                    problem_type_name(each.contraction),
                    each.size.label,
                    each.size.count,
                    short_number(each.seconds),
                    None if part is None else f"{part:.1%}",
                    each.interface,
                )
            )
        print_table(("problem", "size", "calls", "s", "share", "by"), rows)
        if len(calls) > _MOST_ROWS:
            print(f"and {len(calls) - _MOST_ROWS} more: {result.output}")
        total = sum(each.size.count for each in calls)
        took = result.call_seconds
        of = (
            ""
            if took is None
            else f", {number_text(took)} s of the program's {number_text(result.seconds)} s"
        )
        print(
            f"{counted(total, 'call')} of {counted(len(calls), 'size')}"
            f"{' and types' * (len(calls) != 1)}{of}"
        )
    for line in result.notes:
        print(line)
    if result.unwritten:
        print(f"the rows of that file:\n{calls_text(calls)}", end="")
