"""`mltune tune`: from calls or problem types to a library, in one command."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from mltune.cli.output import Cell, conclude, print_table, short_number
from mltune.cli.parser import duration, names, seed
from mltune.cli.progress_bar import ProgressBar
from mltune.cli.terminal import say

if TYPE_CHECKING:
    from mltune.workflow.tune_result import TuneResult

EXAMPLE = "mltune tune --problems sgemm_nn,sgemm_nt --time 5m -o tuned"


def declare(parser: argparse.ArgumentParser) -> None:
    """Add this verb's options."""
    add = parser.add_argument
    add(
        "--for",
        dest="calls",
        type=Path,
        metavar="CALLS",
        help="a CSV file of a program's calls: problem,m,n,k[,batch][,count][,seconds]; or sizes "
        "without the column problem, beside --problems (default: none)",
    )
    add(
        "--problems",
        metavar="P",
        help="problem types between commas; a precision alone, sgemm, means all its transposes; "
        "with --for, only these of its calls (default: those of --for)",
    )
    add(
        "--sizes",
        metavar="S",
        help="of --problems, as of search (default: the suite 'cpu' or 'gpu', after the device)",
    )
    add(
        "--time",
        type=duration,
        metavar="T",
        help="of the whole command with all its sessions: 90s, 10m, 2h (default: 10m)",
    )
    add(
        "-o",
        "--output",
        type=Path,
        default=Path("tuned"),
        metavar="DIR",
        help="the folder of runs, selectors, library and report (default: tuned)",
    )
    add("--resume", action="store_true", help="continue in DIR; --time may grow, the plan stays")
    add("--dry-run", action="store_true", help="show the plan, and do nothing")
    add(
        "--lang",
        type=names,
        metavar="NAMES",
        help="languages of the library, as of export (default: c, and clblast for programs that "
        "call CLBlast)",
    )
    add(
        "--against",
        type=names,
        metavar="NAMES",
        help="libraries to compare with (default: clblast, and cublas on a GPU, numpy on a CPU)",
    )
    add("--device", metavar="D", help="OpenCL device, as of search (default: auto)")
    add("--space", action="append", metavar="NAME", help="as of search (default: auto)")
    add("--seed", type=seed, metavar="N", help="of samplers and data (default: 0)")


def run(args: argparse.Namespace) -> int:
    """Tune, and print the gain."""
    from mltune.space.shipped import split_names
    from mltune.workflow.tune import TuneOptions, tune

    options = TuneOptions(
        calls=args.calls,
        problems=args.problems,
        sizes=args.sizes,
        seconds=args.time,
        folder=args.output,
        device=args.device,
        seed=args.seed,
        space=None if args.space is None else split_names(args.space),
        against=args.against,
        languages=args.lang,
        resume=args.resume,
        dry_run=args.dry_run,
    )
    with ProgressBar(args.quiet > 0) as bar:
        result = tune(options, bar.show, bar.note)
    conclude(result, _print, as_json=args.json)
    return result.exit_code


def _print(result: TuneResult) -> None:
    from mltune.shell import no_c_compiler
    from mltune.workflow.tune_report import REPORT_NAME, gain_lines, left_lines, program_lines

    if not result.tuned:
        return
    rows: list[tuple[Cell, ...]] = []
    for each in result.tuned:
        document = each.to_json()
        rows.append(
            (
                each.part.name,
                document["kernels"],
                document["trials"],
                short_number(each.searched.seconds),
                short_number(document["over_default"]),
                short_number(document["unseen_sizes"]),
                document["selector"],
            )
        )
    print_table(("problem", "kernels", "trials", "s", "gain", "held out", "selector"), rows)
    print("gain: speed over the default kernel's, before any search")
    print("held out: speed of the chosen kernel / best known, on sizes held out of the choice")
    for against, line in zip(result.against, gain_lines(result), strict=True):
        gain = against.ratio if result.is_counted else against.geomean
        say(("gained: ", "good") if gain >= 1 else ("lost: ", "bad"), (line, ""))
    for line in (*program_lines(result), *left_lines(result)):
        print(line)
    print(f"report: {result.folder / REPORT_NAME}")
    if any(each.language == "c" for each in result.libraries) and (lacking := no_c_compiler()):
        print(lacking)
