"""`mltune pack`: builds, checks and lists packs."""

from __future__ import annotations

import argparse
from pathlib import Path

from mltune.cli.output import print_json, print_table, short_number
from mltune.cli.parser import seed
from mltune.cli.progress_bar import ProgressBar
from mltune.counted import counted
from mltune.shell import command

EXAMPLE = "mltune pack verify nvidia-h200/sgemm_nn"


def declare(parser: argparse.ArgumentParser) -> None:
    """Add this verb's options."""
    add = parser.add_argument
    add(
        "action",
        choices=("build", "verify", "list"),
        metavar="ACTION",
        help="build: distil runs into packs; verify: check each kernel on a device, and the speed "
        "of three sizes; list: all packs, and whether they run here",
    )
    add(
        "given",
        nargs="*",
        default=[],
        type=Path,
        metavar="FOLDER",
        help="build: run folders, or those of tune; verify and list: packs, such as "
        "nvidia-h200/sgemm_nn, or a device's name (default: all that ship)",
    )
    add(
        "-o",
        "--output",
        type=Path,
        metavar="DIR",
        help="build: where <device>/<problem> is made (default: models)",
    )
    add("--device", metavar="D", help="verify and list: as of search (default: auto)")
    add("--seed", type=seed, metavar="N", help="build: of fits and splits (default: 0)")


def run(args: argparse.Namespace) -> int:
    """Run the action, and print its result."""
    from mltune.errors import UsageError

    wrong = {"output": args.output, "seed": args.seed}
    if args.action == "build":
        wrong = {"device": args.device}
        if not args.given:
            raise UsageError("pack build: needs run folders, or what mltune tune wrote")
    for name, value in wrong.items():
        if value is not None:
            raise UsageError(f"--{name}: cannot go with pack {args.action}")
    return {"build": _build, "verify": _verify, "list": _list}[args.action](args)


def _build(args: argparse.Namespace) -> int:
    from mltune.workflow.pack import DEFAULT_FOLDER, build

    with ProgressBar(args.quiet > 0) as bar:
        built = build(args.given, args.output or DEFAULT_FOLDER, args.seed or 0, bar.show)
    if args.json:
        print_json({"packs": [each.to_json() for each in built]})
        return 0
    for each in built:
        kernels, _, _ = each.shape
        print(
            f"{each.path.parent}: {counted(kernels, 'kernel')}, "
            f"{counted(len(each.selector.exact), 'size')}"
        )
        print(f"next: {command('mltune', 'pack', 'verify', each.path.parent)}")
    return 0


def _verify(args: argparse.Namespace) -> int:
    from mltune.workflow.pack import verify_packs

    with ProgressBar(args.quiet > 0) as bar:
        found = verify_packs(args.given, args.device, bar.show)
    if args.json:
        print_json({"packs": [each.to_json() for each in found]})
    else:
        for each in found:
            used = len(each.kernels) - len(each.unused)
            print(f"{each.name} on {each.device}: {used} of {len(each.kernels)} kernels right")
            for name, why in each.unused:
                print(f"  {name}: {why}")
            rows = [
                (
                    stated.label,
                    short_number(stated.seconds * 1e3),
                    short_number(taken * 1e3) if taken else "-",
                )
                for stated, taken in zip(each.speeds, each.seconds, strict=True)
            ]
            if rows:
                print_table(("size", "stated ms", "here ms"), rows)
    return 0 if all(each.is_right for each in found) else 1


def _list(args: argparse.Namespace) -> int:
    from mltune.workflow.pack import list_packs

    listed = list_packs(args.given, args.device)
    if args.json:
        print_json({"packs": [each.to_json() for each in listed]})
        return 0
    print_table(
        ("pack", "date", "sizes", "kernels", "run here", "speed", "lacks here"),
        [
            (each.name, each.date, each.sizes, each.kernels, each.runs, each.geomean, each.lacks)
            for each in listed
        ],
    )
    print("speed: of the chosen kernel / best known, on sizes that the choice did not see")
    return 0
