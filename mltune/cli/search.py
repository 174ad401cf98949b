"""`mltune search`: searches a space and records every measurement."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mltune.cli import terminal
from mltune.cli.options import declare_builders, declare_limits, import_from_here
from mltune.cli.output import (
    Cell,
    conclude,
    duration_text,
    kernel_letters,
    print_json,
    print_kernels,
    print_table,
    short_number,
    table_width,
)
from mltune.cli.parser import names, number, positive, seconds, seed
from mltune.cli.progress_bar import ProgressBar
from mltune.counted import counted
from mltune.errors import UsageError
from mltune.search.names import SAMPLERS
from mltune.shell import command

if TYPE_CHECKING:
    from mltune.measurement import Measurement
    from mltune.search.expected_gain import ExpectedGain
    from mltune.tuning.stop_reason import StopReason
    from mltune.workflow.gain import Gain
    from mltune.workflow.search_result import SearchResult

EXAMPLE = "mltune search --budget 60 --problem sgemm_nn --sizes cpu --device auto"

_TABLE_WIDTH = 60

_WITH_REPLAY = {
    *("replay", "budget", "sampler", "sampler_args", "seed", "prior", "patience"),
    *("verb", "json", "quiet", "verbose"),
}
"""The options that a search among recorded times takes."""


def declare(parser: argparse.ArgumentParser) -> None:
    """Add this verb's options."""
    add = parser.add_argument
    add(
        "--device",
        metavar="D",
        help="auto (a GPU if there is one, else PoCL), cpu, gpu, P:D, or a part of a name; all, "
        "with --storage: auto's and all others of its platform at once (default: auto)",
    )
    add(
        "--problem",
        metavar="P",
        help="sgemm_nn, dgemm_tn, sgemm_nt_row, ..., or a precision and an einsum string; sgemm "
        "means sgemm_nn (default: sgemm_nn)",
    )
    add(
        "--epilogue",
        metavar="E",
        help="operations on alpha A B + beta C before it is stored: bias_m or bias_n (one number "
        "for each row, or column, of C), then relu, gelu, silu, clamp; such as bias_n,relu "
        "(default: as in --problem, such as sgemm_nn_bias_n_relu)",
    )
    add(
        "--compute",
        metavar="C",
        help="what single's elements may be rounded to before they are multiplied: tf32, bf16 or "
        "half (default: as in --problem, such as sgemm_nn_tf32; else nothing)",
    )
    add(
        "--sizes",
        metavar="S",
        help="MxNxK[xB] separated by commas, ranges start:stop[:step|*factor], a CSV or YAML "
        "file, or a suite (default: the suite 'cpu' or 'gpu', after the device)",
    )
    add(
        "--space",
        action="append",
        metavar="NAME",
        help="shipped spaces by name (mma-nvidia), or YAML files of parameters and "
        "constraints; several, separated by commas or with --space again, are searched as one; "
        "auto: all that suit device and problem (default: auto)",
    )
    add(
        "--budget",
        type=positive,
        metavar="N",
        help="trials: each builds one config and measures it (default: 500; with --time-limit as "
        "many as fit)",
    )
    add(
        "-o",
        "--run",
        type=Path,
        metavar="DIR",
        help="the run's folder (default: runs/<date>-<problem>-<device>; with --resume the "
        "newest run in runs/)",
    )
    add(
        "--resume",
        action="store_true",
        help="continue a run that was interrupted, with its options; --budget may grow",
    )
    _declare_choice(parser)
    _declare_measuring(parser)
    _declare_elsewhere(parser)


def _declare_choice(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("which configs are tried").add_argument
    add(
        "--sampler",
        metavar="NAME",
        help=f"{', '.join(SAMPLERS)}, or module:Class of an Optuna sampler, such as "
        "optuna.samplers:NSGAIISampler (default: guided)",
    )
    add(
        "--sampler-args",
        metavar="JSON",
        help="arguments of a sampler named module:Class, as a JSON object (default: none)",
    )
    add("--seed", type=seed, metavar="N", help="of sampler and data (default: 0)")
    add(
        "--kernels",
        type=Path,
        nargs="+",
        default=[],
        metavar="FILE",
        help="hand-written kernels: JSON files in GEMMbench's form, or folders of them; together "
        "with generated ones if --space is given, else alone. Their sources run on the device "
        "(default: none)",
    )
    add(
        "--prior",
        type=Path,
        nargs="+",
        default=[],
        metavar="FILE",
        help="records to learn from first, of any device or size: files as for --replay, run "
        "folders, or selectors and packs, whose kernels are tried first; or none (default: "
        "shipped, the shipped runs and packs of this device or a similar one)",
    )
    _declare_end(add)
    add("--objective", metavar="WORD", help="time, or energy with --observe (default: time)")


def _declare_end(add: Callable[..., object]) -> None:
    add(
        "--patience",
        type=positive,
        metavar="N",
        help="end after N trials without a gain, if the sampler expects the next trial to save "
        "less than 0.1 %% of the time (default: none)",
    )
    add(
        "--time-limit",
        type=seconds,
        metavar="SECONDS",
        help="end after about this time: trials begin in its first three quarters, and the best "
        "configs are timed again in the rest (default: none)",
    )
    add(
        "--cross-sizes",
        metavar="S",
        help="further sizes for the decision tree, on which only the best configs are measured at "
        "the end; none; or auto: if --sizes names 2 to 49, as many sizes of the suites spread and "
        "models as fit into a third of the trials' time (default: auto); with --resume they are "
        "added to the run's",
    )
    add(
        "--no-compare",
        action="store_true",
        help="do not compare the result with installed libraries, which takes some seconds after "
        "a search of ten seconds or more, with --time-limit of thirty",
    )


def _declare_measuring(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("how they are measured").add_argument
    add("--alpha", type=number, metavar="X", help="factor of the product (default: 1)")
    add("--beta", type=number, metavar="X", help="factor of the old C (default: 0)")
    add("--samples", type=positive, metavar="N", help="timed launches a size (default: 7)")
    add(
        "--cache",
        metavar="STATE",
        help="of the device before a sample: warm from the last one, or cold (default: warm)",
    )
    add(
        "--observe",
        type=names,
        metavar="NAMES",
        help="nvml and/or rapl: energy, clocks (default: none)",
    )
    declare_limits(add)
    declare_builders(add)


def _declare_elsewhere(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("with other machines, or with none").add_argument
    add(
        "--storage",
        metavar="URL",
        help="a database that `mltune worker` can join, on this host or others: "
        "postgresql+psycopg://USER@HOST/NAME or sqlite:///FILE (default: run.db in DIR)",
    )
    add(
        "--replay",
        type=Path,
        metavar="FILE",
        help="search recorded times instead of a device: a Kernel Tuner cache, T4 results, or a "
        "run folder",
    )


def run(args: argparse.Namespace) -> int:
    """Search, and print the best kernel of every size."""
    import_from_here(args.sampler)
    if args.replay is not None:
        return _run_replay(args)
    from mltune.tuning.search_options import SearchOptions
    from mltune.workflow.search import search

    options = SearchOptions(
        command=("mltune", *sys.argv[1:]),
        budget=args.budget,
        device=args.device,
        problem=args.problem,
        epilogue=args.epilogue,
        compute=args.compute,
        sizes=args.sizes,
        cross_sizes=args.cross_sizes,
        space=args.space,
        sampler=args.sampler,
        sampler_arguments=args.sampler_args,
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
        observers=args.observe,
        objective=args.objective,
        priors=tuple(args.prior),
        time_limit_seconds=args.time_limit,
        patience=args.patience,
        kernels=tuple(args.kernels),
        compare=not args.no_compare,
    )
    with ProgressBar(args.quiet > 0) as bar:
        result = search(options, bar.show, bar.note)
    conclude(result, _print_result, as_json=args.json)
    return result.exit_code


def _run_replay(args: argparse.Namespace) -> int:
    from mltune.workflow.recorded_search import search_recorded

    for name, value in vars(args).items():
        is_given = value not in (None, []) and value is not False  # 0 is a value
        if is_given and name not in _WITH_REPLAY:
            raise UsageError(f"--{name.replace('_', '-')}: cannot go with --replay")
    with ProgressBar(args.quiet > 0) as bar:
        result = search_recorded(
            args.replay,
            budget=args.budget,
            sampler=args.sampler,
            seed=args.seed,
            priors=[] if args.prior == [Path("none")] else args.prior,
            patience=args.patience,
            note=bar.note,
            arguments=args.sampler_args,
        )
    if args.json:
        print_json(result.to_json())
        return 0
    best, optimum = result.best, result.recording.optimum_seconds
    if best.seconds is None or optimum is None:
        raise AssertionError("a search without any time is an error")
    failed = f", {result.failed} failed" if result.failed else ""
    print(
        f"{args.replay}: {len(result.evaluated)} of {len(result.recording.points)} configs"
        f"{failed}, sampler {result.sampler}, seed {result.seed}, {result.seconds:.1f} s"
    )
    print_table(
        ("best ms", "optimum ms", "optimum / best"),
        [(best.seconds * 1e3, optimum * 1e3, optimum / best.seconds)],
    )
    print(f"best: {' '.join(f'{name}={value}' for name, value in best.config.items())}")
    _print_stop_reason(result.stop_reason, result.expected_gain)
    return 0


def _print_result(result: SearchResult) -> None:
    device = result.info.device
    failed = f", {result.failed} failed" if result.failed else ""
    print(
        f"{result.problem} on {device.name_and_driver}, "
        f"{result.info.created[:10]}: {counted(result.trials, 'trial')}{failed}, "
        f"{result.seconds:.0f} s"
    )
    searched = {*result.info.problems}
    shown = [row for row in result.best if row.problem in searched]
    print_table(*_columns(result, shown))
    print_kernels(_letters(shown))
    if len(result.best) > len(shown):
        report = command("mltune", "report", result.run)
        print(f"and on {len(result.best) - len(shown)} cross sizes: {report}")
    ties = sum(len(choice.equals) > 1 for choice in result.choices)
    if ties:
        of_all = f"{ties} of {len(result.choices)} sizes other configs tie with these"
        tie = f"on {of_all}" if len(result.choices) > 1 else "other configs tie with this one"
        print(f"{tie}: their intervals overlap")
    print(
        f"ms: {device.time_words}, median of {result.info.timing.samples} or more samples; "
        f"id: {command('mltune', 'replay', result.run)} ID"
    )
    _print_columns(result.gain)
    effort = result.effort
    print(
        f"spent: {duration_text(effort.build_seconds)} of building, "
        f"{counted(effort.timed, 'timing')} of a config on a size, "
        f"{duration_text(effort.kernel_seconds)} of kernels; by size: "
        "--json or mltune report"
    )
    _print_stop_reason(result.stop_reason, result.expected_gain)
    if result.sizes_left_out and not (result.interrupted or result.stopped):
        longer = result.resumed_by("--time-limit", f"{2 * result.seconds:.0f}")
        sizes = counted(len(result.info.sizes), "size")
        print(f"no time was left for {result.sizes_left_out} of {sizes}: {longer}")
    for line in result.gain.lacking:
        print(line)
    if result.gain.words:
        terminal.say((result.gain.words, "good"))


def _columns(
    result: SearchResult, shown: Sequence[Measurement]
) -> tuple[list[str], list[tuple[Cell, ...]]]:
    """Return header and rows of the last table, with the columns that fit the terminal."""
    gain = result.gain
    letters = _letters(shown)
    columns: list[tuple[str, list[Cell]]] = [
        ("size", [row.problem.label for row in shown]),
        ("k", [letters[row.kernel] for row in shown]),
        ("ms", [short_number(row.median and row.median * 1e3) for row in shown]),
    ]
    for name, values in (
        ("gain", gain.over_default),
        ("roof", gain.of_roofline),
        *((beside.name, beside.ratios) for beside in gain.comparing.libraries),
    ):
        if values:
            columns.append((name, [short_number(values.get(row.problem)) for row in shown]))
    columns.append(("GFLOP/s", [short_number(row.gflops) for row in shown]))
    columns.append(("id", [row.id for row in shown]))
    room = max(terminal.columns() or 0, _TABLE_WIDTH)
    while table_width([name for name, _ in columns], _rows(columns)) > room:
        columns.pop()
    return [name for name, _ in columns], _rows(columns)


def _rows(columns: Sequence[tuple[str, Sequence[Cell]]]) -> list[tuple[Cell, ...]]:
    return list(zip(*(cells for _, cells in columns), strict=True))


def _letters(shown: Sequence[Measurement]) -> dict[str, str]:
    return kernel_letters(row.kernel for row in shown)


def _print_columns(gain: Gain) -> None:
    """Print what the columns of the table mean."""
    said = []
    if gain.over_default:
        said.append("gain: speed over the default kernel's")
    if gain.of_roofline:
        said.append("roof: share of what the device's published peaks allow")
    for beside in gain.comparing.libraries:
        said.append(f"{beside.name}: speed over its, by {beside.clock} time")
    if said:
        print("; ".join(said))


def _print_stop_reason(reason: StopReason, gain: ExpectedGain | None) -> None:
    expected = (
        f"; expected of one more trial: {gain.next_gain:.2%} less time, of {gain.trials} "
        f"more: {gain.ahead_gain:.1%}"
        if gain
        else ""
    )
    print(f"ended by: {reason.value}{expected}")
