"""Holds a run of `mltune protocol` against one of `mltune search`: best speed, and selection.

    mltune protocol spaces/protocols/against-search.yaml --run runs/protocol
    mltune search --problem sgemm_nn --sizes gpu --budget 77 --run runs/search
    python tests/benchmarks/protocol_against_search.py runs/protocol runs/search

Both runs must be of one problem type on one device. On every size that both know, the kernels
that each found to be the fastest are measured in turns. Then each run is distilled, and on sizes
that neither has seen the kernels that its tree chooses are held against the best of both
portfolios, all measured in turns.
"""

from __future__ import annotations

import argparse
import math
import statistics
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from mltune.distil import TimeTable, distil
from mltune.kernel import Kernel
from mltune.kernel.families import FAMILIES
from mltune.problem import Contraction, Problem, problem_of_size, random_sizes
from mltune.runner.live import WorkerRunner
from mltune.selector import Selector
from mltune.space.config import Config
from mltune.tuning.final_selection import choose
from mltune.workflow.recorded import Recorded, read_runs

ROUNDS = 3


def main() -> None:
    """Measure, and print both tables in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("protocol", type=Path)
    parser.add_argument("search", type=Path)
    parser.add_argument("--device", default=None, help="default: that of the runs")
    parser.add_argument("--unseen", type=int, default=24, help="sizes that neither run has seen")
    parser.add_argument("--largest", type=int, default=2048, help="extent of these")
    options = parser.parse_args()
    runs = [read_runs([folder]) for folder in (options.protocol, options.search)]
    device = runs[0].device
    spec = options.device or device.uuid or device.name
    with WorkerRunner(spec, FAMILIES["tiled"]) as runner:
        print(f"{device.name}, {device.platform} {device.driver_version}\n")
        _best(runner, runs)
        _selection(runner, runs, options.unseen, options.largest)


def _best(runner: WorkerRunner, runs: Sequence[Recorded]) -> None:
    chosen = [choose(run.measurements) for run in runs]
    shared = [problem for problem in chosen[0] if problem in chosen[1]]
    print("| size | protocol GFLOP/s | search GFLOP/s | search / protocol |\n|---|---|---|---|")
    logs = []
    for problem in shared:
        rows = [one[problem].best for one in chosen]
        kernels = [_kernel(problem.contraction, row.family, row.config) for row in rows]
        slow, fast = _in_turns(runner, problem, kernels)
        logs.append(math.log(slow / fast))
        speeds = [problem.flops / seconds / 1e9 for seconds in (slow, fast)]
        print(f"| {problem.label} | {speeds[0]:,.1f} | {speeds[1]:,.1f} | {slow / fast:.3f} |")
    print(f"| geometric mean | | | {math.exp(math.fsum(logs) / len(logs)):.3f} |")
    built = [len({row.config for row in run.measurements}) for run in runs]
    print(f"\nkernels built: protocol {built[0]}, search {built[1]}\n", flush=True)


def _selection(runner: WorkerRunner, runs: Sequence[Recorded], unseen: int, largest: int) -> None:
    selectors = [_selector(run) for run in runs]
    contraction = runs[0].contraction
    pool = list(
        dict.fromkeys(
            _kernel(contraction, kernel.family, kernel.config)
            for one in selectors
            for kernel in one.portfolio
        )
    )
    known = {row.problem.size for run in runs for row in run.measurements}
    sizes = random_sizes(unseen, seed=7, low=8, high=largest)
    efficiency: list[list[float]] = [[], []]
    for size in sizes:
        if size.extents in known:
            continue
        problem = problem_of_size(contraction, size.extents)
        times = dict(zip(pool, _in_turns(runner, problem, pool), strict=True))
        best = min(times.values())
        for selector, found in zip(selectors, efficiency, strict=True):
            choice = selector.choose(*size.extents).kernel
            found.append(best / times[_kernel(contraction, choice.family, choice.config)])
    print("| chosen by the tree of | geomean | 10th pct | worst | unseen sizes |")
    print("|---|---|---|---|---|")
    for name, found in zip(("protocol", "search"), efficiency, strict=True):
        mean = float(np.exp(np.log(found).mean()))
        cells = (mean, float(np.quantile(found, 0.1)), min(found))
        print(f"| {name} | {' | '.join(f'{cell:.3f}' for cell in cells)} | {len(found)} |")


def _selector(run: Recorded) -> Selector:
    return distil(TimeTable.from_measurements(run.measurements), run.contraction).selector


def _kernel(contraction: Contraction, family: str, config: Config) -> Kernel:
    return FAMILIES[family].generate(contraction, config)


def _in_turns(runner: WorkerRunner, problem: Problem, kernels: Sequence[Kernel]) -> list[float]:
    """The median time of each kernel over a few rounds; a failure takes for ever."""
    rounds = [
        [runner.run_kernel(problem, kernel).median for kernel in kernels] for _ in range(ROUNDS)
    ]
    return [
        statistics.median(math.inf if one is None else one for one in column)
        for column in zip(*rounds, strict=True)
    ]


if __name__ == "__main__":
    main()
