"""The best kernel that runs found for each size, beside other libraries.

    python tests/benchmarks/best_against.py RUN... -o out --against cublas --sizes deepbench-nn

Takes, for every size that the runs measured, the config with the least median in any of them, and
lets these kernels and the other libraries compute in turns, as `mltune bench` does. Kernels that
take multiples only compete, too. Prints, in Markdown, the speeds and how often mltune is how much
faster: on all sizes, on those where M or N is at most 32, and on the others. Writes selector.json
and bench.json (with every sample) into the folder.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

from ratio_report import report  # type: ignore[import-not-found]  # lies beside this file

from mltune.kernel.families import FAMILIES
from mltune.problem import Contraction, Problem
from mltune.problem.sizes import parse_sizes
from mltune.selector import Leaf, PortfolioKernel, Selector
from mltune.selector.json import write_selector
from mltune.space.config import Config
from mltune.workflow.bench import BenchOptions, bench
from mltune.workflow.recorded import Recorded, read_runs
from tests.selectors import entry_of

Extents = tuple[int, int, int]
Choice = tuple[str, Config]
"""A family and a config of it."""


def main() -> None:
    """Choose, compare, and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("-o", "--out", type=Path, required=True)
    parser.add_argument("--sizes", help="of those that the runs measured (default: all)")
    parser.add_argument("--against", default="cublas")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--most-terms", type=int, default=100_000, help="of a size's sums")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    recorded = read_runs(options.runs)
    best = best_of(recorded)
    if options.sizes:
        wanted = {size.extents[:3] for size in parse_sizes(options.sizes)}
        best = {size: choice for size, choice in best.items() if size in wanted}
        print(f"{len(best)} of {len(wanted)} sizes were measured\n", flush=True)
    best = {size: choice for size, choice in best.items() if size[2] < options.most_terms}
    selector = options.out / "selector.json"
    write_selector(exact_selector(recorded.contraction, best), selector)
    result = bench(
        BenchOptions(
            selector=selector,
            against=tuple(options.against.split(",")),
            sizes=",".join("x".join(map(str, size)) for size in best),
            problem=None,
            device=options.device,
            rounds=options.rounds,
            seed=0,
            figure=None,
        ),
        lambda progress: None,
    )
    groups = {
        "all": lambda problem: True,
        "M or N <= 32": lambda problem: min(problem.m, problem.n) <= 32,
        "M and N > 32": lambda problem: min(problem.m, problem.n) > 32,
    }
    report(result, options.out, groups)


def best_of(recorded: Recorded) -> dict[Extents, Choice]:
    """Return the config with the smallest median time for each size, in the order of the sizes."""
    fastest: dict[Problem, tuple[float, Choice]] = {}
    for row in recorded.measurements:
        median = row.median
        if median is not None and median < fastest.get(row.problem, (math.inf,))[0]:
            fastest[row.problem] = median, (row.family, row.config)
    return {
        (problem.m, problem.n, problem.k): choice
        for problem, (_, choice) in sorted(fastest.items(), key=lambda item: item[0].size)
    }


def exact_selector(contraction: Contraction, best: dict[Extents, Choice]) -> Selector:
    """Return a selector with a kernel for each size; all other sizes get the first kernel."""
    kernels: dict[str, PortfolioKernel] = {}
    names = {}
    for size, (family, config) in best.items():
        written = FAMILIES[family].generate(contraction, config)
        names[size] = written.name
        kernels[written.name] = entry_of(written)
    numbers = {name: number for number, name in enumerate(kernels)}
    return Selector(
        contraction=contraction,
        portfolio=tuple(kernels.values()),
        tree=Leaf(0),
        exact=tuple(((*size, 1), numbers[name]) for size, name in names.items()),
    )


if __name__ == "__main__":
    main()
