"""The result of a comparison in Markdown: speeds by size, and ratios by group of sizes."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mltune.bench.comparison import SizeResult
from mltune.problem import Problem
from mltune.workflow.bench import BenchResult

Array = NDArray[np.float64]


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
