"""A whole library beside others, on sizes that it was not fitted to.

    python tests/benchmarks/library_against.py RUN... -o out --against cublas,clblast

Holds out 100 sizes of the runs' cross-benchmark, drawn by a seed, distils a selector from the
others, and lets it and the other libraries compute the held-out sizes in turns, as `mltune bench`
does. Prints, in Markdown, the speeds and how often the library is how much faster. Writes
selector.json, bench.json (with every sample) and library.svg into the folder.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mltune.bench.comparison import SizeResult
from mltune.distil import TimeTable, distil
from mltune.problem import Problem, Size
from mltune.problem.size_sets import split_sizes
from mltune.selector.json import write_selector
from mltune.workflow.bench import BenchOptions, BenchResult, bench
from mltune.workflow.recorded import read_runs

Array = NDArray[np.float64]


def main() -> None:
    """Hold out, distil, compare, and print."""
    options = _options()
    options.out.mkdir(parents=True, exist_ok=True)
    selector = options.out / "selector.json"
    held_out = _distil(options, selector)
    result = bench(
        BenchOptions(
            selector=selector,
            against=tuple(options.against.split(",")),
            sizes=",".join(size.label for size in held_out),
            problem=None,
            device=options.device,
            rounds=options.rounds,
            seed=options.seed,
            figure=options.out / "library.svg",
        ),
        lambda progress: None,
    )
    report(result, options.out, {"all": lambda problem: True})


def report(
    result: BenchResult, out: Path, groups: Mapping[str, Callable[[Problem], bool]]
) -> None:
    """Print speeds and ratios in Markdown, and write every sample to bench.json.

    Args:
        result: of the comparison; mltune is its first contestant.
        out: the folder.
        groups: sizes that the ratios are told of together, by a word for them.
    """
    (out / "bench.json").write_text(json.dumps(result.to_json(), indent=1))
    for _, description in result.contestants:
        print(f"- {description}")
    for name, reason in result.absent:
        print(f"- {name}: left out, {reason}")
    names = [name for name, _ in result.contestants]
    print(f"\nGFLOP/s by kernel time, medians of {result.rounds} rounds in turns:\n")
    print(f"| size | {' | '.join(names)} |\n|---|{'---|' * len(names)}")
    for one in result.comparison.results:
        print(f"| {one.problem.label} | {' | '.join(_speed(one, name) for name in names)} |")
    print(f"\nspeed of {names[0]} / speed of the other:\n")
    figures = "geomean | 10th pct | median | worst | best | at least 1"
    print(f"| group | against | clock | sizes | {figures} |\n{'|---' * 10}|")
    for ratio in result.ratios:
        for group, takes in groups.items():
            values = np.array([value for problem, value in ratio.by_size if takes(problem)])
            if len(values):
                print(f"| {group} | {ratio.against} | {ratio.clock} | {_cells(values)} |")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("-o", "--out", type=Path, required=True)
    parser.add_argument("--held-out", type=int, default=100, help="sizes")
    parser.add_argument("--seed", type=int, default=0, help="of the sizes, and of the numbers")
    parser.add_argument("--max-kernels", type=int, default=24)
    parser.add_argument("--against", default="cublas,clblast")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--rounds", type=int, default=7)
    return parser.parse_args()


def _distil(options: argparse.Namespace, selector: Path) -> tuple[Size, ...]:
    """Write the selector of the sizes that are not held out, and return those that are."""
    recorded = read_runs(options.runs)
    table = TimeTable.from_measurements(recorded.measurements)
    indices = 4 if recorded.contraction.batch_indices else 3
    sizes = [Size(tuple(size[:indices])) for size in table.sizes]
    _, held_out = split_sizes(sizes, options.held_out / len(sizes), options.seed)
    seen = [row for row, size in enumerate(sizes) if size not in held_out]
    distilled = distil(
        table.take(seen),
        recorded.contraction,
        max_kernels=options.max_kernels,
        compute_units=recorded.device.compute_units,
        conditions=recorded.conditions,
    )
    write_selector(distilled.selector, selector)
    print(
        f"{len(distilled.selector.portfolio)} of {len(table.kernels)} kernels chosen by "
        f"{len(seen)} sizes, compared on {len(held_out)} others\n",
        flush=True,
    )
    return held_out


def _speed(one: SizeResult, name: str) -> str:
    timing = one.timings.get(name)
    if timing is None or timing.kernel_median is None:
        return "-"
    return f"{one.problem.flops / timing.kernel_median / 1e9:,.4g}"


def _cells(values: Array) -> str:
    low, median = np.quantile(values, (0.1, 0.5))
    geomean = math.exp(np.log(values).mean())
    figures = (geomean, low, median, values.min(), values.max())
    share = f"{np.mean(values >= 1):.0%}"
    return " | ".join((str(len(values)), *(f"{value:.3f}" for value in figures), share))


if __name__ == "__main__":
    main()
