"""`mltune search`: the main job."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mltune.cli.output import ProgressBar, print_json, print_table, short_names
from mltune.cli.parser import number, positive, seconds, whole

if TYPE_CHECKING:
    from mltune.workflow.search import SearchResult

EXAMPLE = "mltune search --budget 60 --problem sgemm_nn --sizes cpu --device auto"


def declare(parser: argparse.ArgumentParser) -> None:
    """Add this verb's options."""
    add = parser.add_argument
    add(
        "--budget",
        type=positive,
        metavar="N",
        help="trials: one is a config built once and measured on every size (default: 500)",
    )
    add(
        "--device",
        metavar="D",
        help="auto (a GPU if there is one, else PoCL), cpu, gpu, P:D, or a part of a name "
        "(default: auto)",
    )
    add(
        "--problem",
        metavar="P",
        help="sgemm_nn, dgemm_tn, sgemm_nt_row, ..., or a precision and an einsum string "
        "(default: sgemm_nn)",
    )
    add(
        "--sizes",
        metavar="S",
        help="MxNxK[xB] separated by commas, ranges start:stop[:step|*factor], a CSV or YAML "
        "file, or a suite (default: the suite 'cpu' or 'gpu', after the device)",
    )
    add(
        "--space",
        metavar="FILE",
        help="a YAML file of parameters and constraints "
        "(default: spaces/tiled-cpu.yaml or spaces/tiled-gpu.yaml)",
    )
    add("--sampler", metavar="NAME", help="tpe or random (default: tpe)")
    add("--seed", type=whole, metavar="N", help="of sampler and data (default: 0)")
    add("--alpha", type=number, metavar="X", help="factor of the product (default: 1)")
    add("--beta", type=number, metavar="X", help="factor of the old C (default: 0)")
    add("--samples", type=positive, metavar="N", help="timed launches a size (default: 7)")
    add("--build-timeout", type=seconds, metavar="SECONDS", help="a build's limit (default: 60)")
    add("--run-timeout", type=seconds, metavar="SECONDS", help="a size's limit (default: 30)")
    add(
        "--run",
        type=Path,
        metavar="DIR",
        help="the run's folder (default: runs/<date>-<problem>-<device>; with --resume the "
        "newest run in runs/)",
    )
    add(
        "--resume",
        action="store_true",
        help="go on with a run that was cut off; what it asked for stays, --budget may grow",
    )
    add(
        "--cache",
        metavar="STATE",
        help="of the device before a sample: warm from the last one, or cold (default: warm)",
    )
    add(
        "--builders",
        type=int,
        metavar="N",
        help="processes that build ahead, 0 for none (default: as many as suit the machine)",
    )
    add("--rest", type=seconds, metavar="SECONDS", help="pause before each size (default: none)")
    add("--observe", metavar="NAMES", help="nvml and/or rapl: energy, clocks (default: none)")
    add("--objective", metavar="WORD", help="time, or energy with --observe (default: time)")
    add("--storage", metavar="URL", help="any SQLAlchemy URL (default: run.db in DIR)")


def run(args: argparse.Namespace) -> int:
    """Search, and print the best kernel of every size."""
    from mltune.workflow.options import SearchOptions
    from mltune.workflow.search import search

    options = SearchOptions(
        command=tuple(sys.argv),
        budget=args.budget,
        device=args.device,
        problem=args.problem,
        sizes=args.sizes,
        space=args.space,
        sampler=args.sampler,
        seed=args.seed,
        alpha=args.alpha,
        beta=args.beta,
        samples=args.samples,
        build_timeout_seconds=args.build_timeout,
        run_timeout_seconds=args.run_timeout,
        folder=args.run,
        resume=args.resume,
        storage=args.storage,
        cache=args.cache,
        builders=args.builders,
        rest_seconds=args.rest,
        observers=None if args.observe is None else tuple(args.observe.split(",")),
        objective=args.objective,
    )
    with ProgressBar(args.quiet > 0) as bar:
        result = search(options, bar.show, bar.note)
    if args.json:
        print_json(result.to_json())
    else:
        _print_result(result)
    for line in result.next_commands:
        print(line, file=sys.stderr if args.json else sys.stdout)
    return result.exit_code


def _print_result(result: SearchResult) -> None:
    device = result.info.device
    failed = f", {result.failed} failed" if result.failed else ""
    print(
        f"{result.problem} on {device.name} ({device.platform} {device.driver_version}), "
        f"{result.info.created[:10]}: {result.trials} trials{failed}, {result.seconds:.0f} s"
    )
    names, shared = short_names([best.kernel for best in result.best])
    print_table(
        ("size", "kernel ms", "GFLOP/s", "id", "kernel"),
        [
            (best.problem.label, median * 1e3, best.gflops, best.id, name)
            for best, name in zip(result.best, names, strict=True)
            if (median := best.median) is not None
        ],
    )
    if shared:
        print(f"every kernel: {' '.join(shared)}")
    ties = sum(len(choice.equals) > 1 for choice in result.choices)
    if ties:
        print(f"on {ties} of {len(result.choices)} sizes other configs cannot be told apart")
    print(
        "kernel ms: kernel time by device events, median of "
        f"{result.info.timing.samples} or more samples; id: mltune replay {result.run} ID"
    )
