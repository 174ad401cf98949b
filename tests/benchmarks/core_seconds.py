"""Speed for each second that a core computes, beside CLBlast and numpy, on a busy machine.

    export POCL_MAX_PTHREAD_COUNT=1 OPENBLAS_NUM_THREADS=1
    python -m tests.benchmarks.core_seconds SELECTOR

Every library computes with one thread. Its time is the processor's for the whole process, which
does not run while others have the core: unlike a clock on the wall it is the same on a busy
machine, but for what others take of the caches. What Python and the driver spend on a call
counts in full, though they could do so while the device computes. Twenty squares from 64 to 2048,
each the same factor larger than the one before; the libraries take turns.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from pathlib import Path

from mltune.bench import PEERS, Contestant, Product
from mltune.bench.contestant import NotPresentError
from mltune.bench.opencl_queues import Queues
from mltune.bench.task import Task
from mltune.bench.tuned import Tuned
from mltune.device import choose
from mltune.problem import gemm_problem
from mltune.runtime import load

SIZES = tuple(round(64 * 32 ** (step / 19)) for step in range(20))
SAMPLE_SECONDS = 0.01


def core_seconds(product: Product, count: int) -> float:
    """Return the process's processor time for one call: the mean of `count` calls."""
    start = time.process_time()
    product.call_seconds(count)
    return (time.process_time() - start) / count


def medians(contestants: list[Contestant], task: Task, rounds: int) -> dict[str, float]:
    """Return each contestant's median processor time; they are timed in turns."""
    products = {one.name: one.prepare(task) for one in contestants}
    for product in products.values():
        product.compute()  # compiles
    counts = {
        name: math.ceil(SAMPLE_SECONDS / max(core_seconds(product, 2), 1e-6))
        for name, product in products.items()
    }
    samples: dict[str, list[float]] = {name: [] for name in products}
    for _ in range(rounds):
        for name, product in products.items():
            samples[name].append(core_seconds(product, counts[name]))
    for product in products.values():
        product.close()
    return {name: statistics.median(each) for name, each in samples.items()}


def main() -> None:
    """Print a row for each size, and the geometric means."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("selector", type=Path)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--most", type=int, default=SIZES[-1], help="no larger size")
    arguments = parser.parse_args()
    tuned = load(arguments.selector)
    entry = choose("cpu")
    queues = Queues.open(entry)
    contestants: list[Contestant] = [Tuned(tuned, queues)]
    for name in ("clblast", "numpy"):
        try:
            contestants.append(PEERS[name](entry.info, queues))
        except NotPresentError as error:
            print(error)
    for one in contestants:
        print(f"{one.name}: {one.describe(tuned.selector.contraction)}")
    print("GFLOP/s of a core; size,", *(one.name for one in contestants), sep=" ")
    ratios: dict[str, list[float]] = {one.name: [] for one in contestants[1:]}
    for size in SIZES:
        if size > arguments.most:
            continue
        problem = gemm_problem(tuned.selector.contraction, size, size, size)
        seconds = medians(contestants, Task.draw(problem, 0), arguments.rounds)
        print(size, *(f"{problem.flops / each * 1e-9:.1f}" for each in seconds.values()))
        for name, each in ratios.items():
            each.append(seconds[name] / seconds["mltune"])
    for name, each in ratios.items():
        print(f"speed / {name}'s: geometric mean {statistics.geometric_mean(each):.3f}")
        print(f"    worst {min(each):.3f}, best {max(each):.3f}, {len(each)} sizes")


if __name__ == "__main__":
    main()
