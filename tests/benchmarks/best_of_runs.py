"""Which run found the faster kernel? The best of several runs on one size, in turns, and numpy.

    python -m tests.benchmarks.best_of_runs RUN RUN... --rounds 15

The runs are of one problem type and one size, such as those of several families or seeds. The
kernel that each run chose in its final rounds is measured once a round. With other users on the
machine the least of the rounds says more than their median: both are printed.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections import defaultdict
from pathlib import Path

import numpy as np

from mltune.kernel import Kernel
from mltune.kernel.families import FAMILIES
from mltune.problem import Problem
from mltune.run.run import Run
from mltune.runner import WorkerRunner
from mltune.tuning.final_selection import choose


def main() -> int:
    """Measure, and print a line per run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    found = [_best(folder) for folder in options.runs]
    problem = found[0][0]
    seconds: dict[str, list[float]] = defaultdict(list)
    with WorkerRunner(options.device, FAMILIES["tiled"], samples=3) as runner:
        for _ in range(options.rounds):
            for folder, (_, kernel) in zip(options.runs, found, strict=True):
                measured = runner.run_kernel(problem, kernel)
                if measured.median is not None:
                    seconds[f"{folder.name}: {kernel.name}"].append(measured.median)
            seconds["numpy"].append(_numpy_seconds(problem))
    for name, times in seconds.items():
        least, median = min(times), statistics.median(times)
        print(
            f"{problem.label} least {least * 1e3:.3f} ms ({problem.flops / least / 1e9:.1f} "
            f"GFLOP/s), median {median * 1e3:.3f} ms: {name}"
        )
    return 0


def _best(folder: Path) -> tuple[Problem, Kernel]:
    """Return the problem of a run, and the kernel that its final rounds chose."""
    with Run.open(folder) as run:
        (best,) = (choice.best for choice in choose(run.store.measurements()).values())
    kernel = FAMILIES[best.family].generate(best.problem.contraction, best.config)
    return best.problem, kernel


def _numpy_seconds(problem: Problem) -> float:
    """Time numpy's product of the same sizes, column-major, once after a warm-up."""
    rng = np.random.default_rng(0)
    shapes = (problem.batch, problem.k, problem.m), (problem.batch, problem.n, problem.k)
    a, b = (rng.random(shape, np.float32).transpose(0, 2, 1) for shape in shapes)
    if problem.batch == 1:
        a, b = a[0], b[0]
    times = []
    for _ in range(3):
        begun = time.perf_counter()
        np.matmul(a, b)
        times.append(time.perf_counter() - begun)
    return min(times)


if __name__ == "__main__":
    sys.exit(main())
