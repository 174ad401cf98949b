"""`mltune predict`: the predictions of the cost model."""

from __future__ import annotations

import argparse
from itertools import chain
from pathlib import Path

from mltune.cli.output import Cell, print_json, print_table, short_names
from mltune.cli.parser import positive, seed
from mltune.errors import UsageError

EXAMPLE = "mltune predict nvidia-h200/sgemm_nn 1000x1000x1000 --top 4 --measure"


def declare(parser: argparse.ArgumentParser) -> None:
    """Add this verb's options."""
    add = parser.add_argument
    add("model", type=Path, metavar="MODEL", help="what mltune train wrote, or a pack")
    add("size", nargs="+", type=_extents, metavar="MxNxK[xB]", help="a size, also as M N K")
    add("--top", type=positive, default=5, metavar="N", help="how many kernels (default: 5)")
    add("--measure", action="store_true", help="measure them, and sort by that")
    add(
        "--explore",
        type=positive,
        default=0,
        metavar="N",
        help="also consider N configs that were never measured (default: 0)",
    )
    add("--device", metavar="D", help="where to measure (default: the model's device)")
    add("--seed", type=seed, default=0, metavar="N", help="of --explore (default: 0)")


def run(args: argparse.Namespace) -> int:
    """Predict, and print the kernels."""
    from mltune.shell import command
    from mltune.workflow.predict import PredictOptions, predict

    size = tuple(chain.from_iterable(args.size))
    if len(args.size) > 1 and len(size) > len(args.size):
        asked = " ".join("x".join(map(str, each)) for each in args.size)
        raise UsageError(f"predict: takes one size, got {asked}")
    result = predict(
        PredictOptions(
            model=args.model,
            size=size,
            top=args.top,
            explore=args.explore,
            measure=args.measure,
            device=args.device,
            seed=args.seed,
        )
    )
    if args.json:
        print_json(result.to_json())
        return 0
    measured = ("measured ms", "GFLOP/s", "status") if args.measure else ()
    rows: list[list[Cell]] = []
    names, shared = short_names([prediction.kernel for prediction in result.predictions])
    for number, prediction in enumerate(result.predictions, start=1):
        row: list[Cell] = [number, prediction.seconds * 1e3, result.gflops(prediction.seconds)]
        if prediction.measurement is not None:
            median = prediction.measurement.median
            row += [
                None if median is None else median * 1e3,
                result.gflops(median),
                prediction.measurement.status.value,
            ]
        rows.append([*row, names[number - 1]])
    print(f"{result.problem.label}:")
    print_table(("", "predicted ms", "GFLOP/s", *measured, "kernel"), rows)
    if shared:
        print(f"every kernel: {' '.join(shared)}")
    if not args.measure:
        words = ["x".join(map(str, size)), "--top", str(args.top)]
        if args.explore:
            words += ["--explore", str(args.explore)]
        if args.explore and args.seed:
            words += ["--seed", str(args.seed)]
        if args.device:
            words += ["--device", args.device]
        print(f"\nnext: {command('mltune', 'predict', args.model, *words, '--measure')}")
    return 0


def _extents(text: str) -> tuple[int, ...]:
    """Read `MxNxK`, or three numbers as separate arguments."""
    return tuple(map(positive, text.lower().split("x")))
