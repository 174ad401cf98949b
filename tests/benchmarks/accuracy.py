"""How exact is a kernel of single precision beside cuBLAS, on easy data and on hard?

    python -m tests.benchmarks.accuracy models/nvidia-h100-80gb-hbm3/sgemm_nn --match SPIhalf

For each kind of data, in Markdown: the error of cuBLAS and of each kernel (Frobenius norm over the
result's, 64 rows against float64), and speeds: medians of kernel time, all passes, by events;
cuBLAS's in graphs of 10 calls. The kernels are those of a pack whose names have a text in them.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from mltune.bench.cublas import CuBLAS
from mltune.bench.task import Task
from mltune.device import open_device
from mltune.device.device import Device
from mltune.kernel.families import FAMILIES
from mltune.kernel.kernel import Kernel
from mltune.problem import Problem, gemm_problem
from mltune.selector.json import read_selector

Array = np.ndarray[Any, np.dtype[Any]]

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
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seed", type=int, default=0, help="of the numbers")
    options = parser.parse_args()
    device = open_device(options.device)
    library = CuBLAS(device.info)
    selector = read_selector(options.pack / "selector.json")
    kernels = [
        FAMILIES[each.family].generate(selector.contraction, each.config)
        for each in selector.portfolio
        if options.match in each.name
    ]
    print("| size | data | kernel | error | of cuBLAS | TFLOP/s | of cuBLAS |")
    print("|---|---|---|---|---|---|---|")
    for size in options.sizes.split(","):
        m, n, k = map(int, size.split("x"))
        problem = gemm_problem(kernels[0].contraction, m, n, k)
        for kind, draw in DATA.items():
            rng = np.random.default_rng([options.seed, m, n, k])
            a = draw(rng, (m, k)).astype(np.float32)
            b = draw(rng, (n, k)).astype(np.float32)
            task = _task(problem, a, b)
            product = library.prepare(task)
            right = task.relative_error(product.compute())
            theirs = statistics.median(product.kernel_seconds(10) for _ in range(3))
            product.close()
            for kernel in kernels:
                c, ours = _multiply(device, kernel, task, options.rounds)
                error = task.relative_error(c)
                print(
                    f"| {size} | {kind} | {kernel.name} | {error:.3g} | {right:.3g} "
                    f"| {2e-12 * m * n * k / ours:.1f} | {theirs / ours:.2f} |",
                    flush=True,
                )
    library.close()


def _task(problem: Problem, a: Array, b: Array) -> Task:
    """The product of op(A), m x k, and op(B) transposed, n x k."""
    plain = Task.draw(gemm_problem(problem.contraction, 1, 1, 1), 0)
    in_memory_a = a.T if plain.trans_a == "N" else a
    in_memory_b = b if plain.trans_b == "N" else b.T
    return Task(
        problem, np.ascontiguousarray(in_memory_a)[None], np.ascontiguousarray(in_memory_b)[None]
    )


def _multiply(device: Device, kernel: Kernel, task: Task, rounds: int) -> tuple[Array, float]:
    """C, and the median of a kernel's times."""
    program = device.build(kernel)
    problem = task.problem.canonical()
    c: Array = np.full(task.c_shape, np.nan, np.float32)
    buffers = {}
    for name, values in (("a", task.a), ("b", task.b), ("c", c)):
        buffers[name] = device.allocate(values.nbytes)
        device.write(buffers[name], np.ascontiguousarray(values).ravel())
    if needed := kernel.scratch_bytes(problem):
        buffers["scratch"] = device.allocate(needed)
        device.fill(buffers["scratch"], 0xFF)
    seconds = []
    for _ in range(rounds):
        if needed := kernel.counter_bytes(problem):
            buffers["counters"] = device.allocate(needed)
            device.fill(buffers["counters"], 0)
        execution = device.launch(program, problem, **buffers)
        execution.wait()
        seconds.append(execution.seconds)
    device.read(buffers["c"], flat := np.empty(c.size, np.float32))
    return flat.reshape(c.shape), statistics.median(seconds)


if __name__ == "__main__":
    main()
