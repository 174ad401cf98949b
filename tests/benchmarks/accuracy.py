"""How exact is a kernel of single precision beside cuBLAS, on easy data and on hard?

    python -m tests.benchmarks.accuracy models/nvidia-h100-80gb-hbm3/sgemm_nn --match SPIhalf

For each kind of data, in Markdown: the error of another library and of each kernel (Frobenius norm
over the result's, 64 rows against float64), and speeds: medians of kernel time, timed as `mltune
bench` does. The kernels are those of a pack whose names have a text in them.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from mltune.bench.contestant import Contestant
from mltune.bench.opencl_queues import Queues
from mltune.bench.peers import PEERS
from mltune.bench.task import Task
from mltune.bench.tuned import Tuned
from mltune.device import choose
from mltune.problem import Problem, gemm_problem
from mltune.runtime import load
from mltune.selector.json import read_selector
from mltune.selector.restricted import without

Array = np.ndarray[Any, np.dtype[Any]]

_CALLS = 10  # of a sample

DATA: dict[str, Callable[[np.random.Generator, tuple[int, int]], Array]] = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "uniform in [0, 1)": lambda rng, shape: rng.random(shape),
    "normal times 2^-15 to 2^15": lambda rng, shape: (
        rng.standard_normal(shape) * np.exp2(rng.integers(-15, 16, shape))
    ),
    "normal, one in 1,000 times 1e6": lambda rng, shape: (
        rng.standard_normal(shape) * np.where(rng.random(shape) < 1e-3, 1e6, 1)
    ),
    "normal, terms 1 in 50 times 100": lambda rng, shape: (
        rng.standard_normal(shape) * np.where(np.arange(shape[1]) % 50 == 7, 100, 1)
    ),
}


def main() -> None:
    """Multiply and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("pack", type=Path)
    parser.add_argument("--match", default="", help="a part of kernels' names")
    parser.add_argument("--sizes", default="4096x4096x4096", help="MxNxK, between commas")
    parser.add_argument("--device", default="gpu")
    parser.add_argument("--against", choices=PEERS, default="cublas")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0, help="of the numbers")
    options = parser.parse_args()
    entry = choose(options.device)
    queues = Queues.open(entry)
    library = PEERS[options.against](entry.info, queues)
    selector = read_selector(options.pack / "selector.json")
    numbers = range(len(selector.portfolio))
    kernels = [
        Tuned(load(without(selector, {*numbers} - {number})[0]), queues)
        for number in numbers
        if options.match in selector.portfolio[number].name
    ]
    print(f"| size | data | kernel | error | of {library.name} | TFLOP/s | of {library.name} |")
    print("|---|---|---|---|---|---|---|")
    for size in options.sizes.split(","):
        m, n, k = map(int, size.split("x"))
        problem = gemm_problem(selector.contraction, m, n, k)
        for kind, draw in DATA.items():
            rng = np.random.default_rng([options.seed, m, n, k])
            a = draw(rng, (m, k)).astype(np.float32)
            b = draw(rng, (n, k)).astype(np.float32)
            task = _task(problem, a, b)
            _, right, theirs = _multiplied(library, task, options.rounds)
            for kernel in kernels:
                name, error, ours = _multiplied(kernel, task, options.rounds)
                print(
                    f"| {size} | {kind} | {name} | {error:.3g} | {right:.3g} "
                    f"| {2e-12 * m * n * k / ours:.1f} | {theirs / ours:.2f} |",
                    flush=True,
                )
    for contestant in (library, *kernels):
        contestant.close()


def _task(problem: Problem, a: Array, b: Array) -> Task:
    """The product of op(A), m x k, and op(B) transposed, n x k."""
    plain = Task.draw(gemm_problem(problem.contraction, 1, 1, 1), 0)
    in_memory_a = a.T if plain.trans_a == "N" else a
    in_memory_b = b if plain.trans_b == "N" else b.T
    return Task(
        problem, np.ascontiguousarray(in_memory_a)[None], np.ascontiguousarray(in_memory_b)[None]
    )


def _multiplied(contestant: Contestant, task: Task, rounds: int) -> tuple[str, float, float]:
    """The kernel's name, the error, and the median of the times of a call, in seconds."""
    product = contestant.prepare(task)
    error = task.relative_error(product.compute())
    time = product.kernel_seconds if product.has_kernel_time else product.call_seconds
    seconds = [each for _ in range(rounds) if (each := time(_CALLS)) is not None]
    name = product.kernel
    product.close()
    return name, error, statistics.median(seconds)


if __name__ == "__main__":
    main()
