"""What it costs to check timed launches and the memory around matrices, as shares of a search.

    python -m tests.benchmarks.check_cost [--device D] [--space FILE] [--configs 20] [--sizes ...]

It builds kernels of a space and measures each on every size several times, with the checks and
without, in turns, within one process. What is looked at once for each kernel is timed by itself.
It prints the wall and processor time of both, the checks' share of them, and their share of a
search of these kernels, whose builds count too. Times with and without are compared as well: a
check must not make a kernel look slower.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from unittest.mock import patch

import numpy as np

from mltune.device import OpenCLDevice
from mltune.errors import MltuneError
from mltune.kernel import Kernel
from mltune.kernel.families import FAMILIES
from mltune.measurement import Status
from mltune.problem import gemm, gemm_problem
from mltune.problem.precision import Precision
from mltune.resources import data_folder
from mltune.runner import timing
from mltune.runner.bench import Bench
from mltune.runner.messages import Outcome, Request
from mltune.runner.timing import SamplingPlan
from mltune.runner.workspace import Workspace
from mltune.space.load import load_space
from mltune.space.names import outside_names


@dataclass(slots=True)
class Spent:
    """Wall and processor seconds of pieces of work."""

    walls: list[float] = field(default_factory=list)
    cpus: list[float] = field(default_factory=list)

    def of(self, work: Callable[[], Outcome]) -> Outcome:
        """Do the work, and add what it takes."""
        wall, cpu = time.perf_counter(), time.process_time()
        outcome = work()
        self.walls.append(time.perf_counter() - wall)
        self.cpus.append(time.process_time() - cpu)
        return outcome


def main() -> int:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--space", default=None)
    parser.add_argument("--configs", type=int, default=20)
    parser.add_argument("--sizes", default="64x64x64,100x60x200,256x256x256,512x512x512")
    parser.add_argument("--repeats", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    device = OpenCLDevice.open(args.device)
    kind = "cpu" if device.info.kind == "cpu" else "gpu"
    path = args.space or data_folder("spaces") / f"tiled-{kind}.yaml"
    space = load_space(path).bind(outside_names(device.info, Precision.SINGLE))
    family = FAMILIES[space.family]
    contraction = gemm(Precision.SINGLE)
    sizes = [tuple(map(int, size.split("x"))) for size in args.sizes.split(",")]
    problems = [gemm_problem(contraction, *size) for size in sizes]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4
    bench = Bench(device, lambda stage: None, min(memory, device.info.global_mem_bytes // 4))

    def request(kernel: Kernel, number: int, check: bool = False) -> Request:
        plan = SamplingPlan(samples=7, extra_seconds=0.02)
        return Request(
            problem=problems[number], kernel=kernel, plan=plan, seed=0, run_seconds=30, check=check
        )

    looked = Spent()
    fault_around = Workspace.fault_around

    def timed_look(workspace: Workspace) -> str:
        found = ""

        def look() -> Outcome:
            nonlocal found
            found = fault_around(workspace)
            return Outcome(status=Status.INVALID)

        looked.of(look)
        return found

    first = Spent()
    extra: list[
        tuple[float, float]
    ] = []  # wall and processor seconds of each measurement's checks
    whole: list[tuple[float, float]] = []  # of each measurement with checks
    ratios: list[float] = []
    samples = {True: 0, False: 0}
    blamed = 0
    kernels = 0
    with patch.object(Workspace, "fault_around", timed_look):
        for config in space.sample(np.random.default_rng(args.seed), 4 * args.configs):
            if kernels == args.configs:
                break
            try:
                kernel = family.generate(contraction, config)
            except MltuneError:
                continue
            outcomes = [
                first.of(partial(bench.measure, request(kernel, number, check=True)))
                for number in range(len(problems))
            ]
            blamed += sum(one.status is Status.WRONG_RESULT for one in outcomes)
            if any(one.status is not Status.OK for one in outcomes):
                continue
            kernels += 1
            for number in range(len(problems)):
                medians: dict[bool, list[float]] = {True: [], False: []}
                both = {True: Spent(), False: Spent()}
                for turn in range(2 * args.repeats):
                    is_checked = (turn + turn // 2) % 2 == 0
                    spent = both[is_checked]
                    work = partial(bench.measure, request(kernel, number))
                    if is_checked:
                        one = spent.of(work)
                    else:
                        with patch.object(timing, "_checked_launches", lambda *_: {}):
                            one = spent.of(work)
                    blamed += one.status is not Status.OK
                    samples[is_checked] += len(one.seconds)
                    medians[is_checked].append(statistics.median(one.seconds))
                ratios.append(min(medians[True]) / min(medians[False]))
                # Medians of both, as other work comes and goes.
                (wall, cpu), (less_wall, less_cpu) = (
                    (statistics.median(both[each].walls), statistics.median(both[each].cpus))
                    for each in (True, False)
                )
                whole.append((wall, cpu))
                extra.append((wall - less_wall, cpu - less_cpu))
    print(f"{device.info.name} ({device.info.driver_version}), {kernels} kernels of {path}")
    print(f"blamed: {blamed}")
    count = len(extra)
    wall, cpu = (sum(each[place] for each in extra) for place in (0, 1))
    all_wall, all_cpu = (sum(each[place] for each in whole) for place in (0, 1))
    print(f"samples: {samples[True]} with checks, {samples[False]} without")
    print(
        f"checks of timed launches: {1e3 * wall / count:.3f} of {1e3 * all_wall / count:.3f} ms "
        f"wall ({wall / all_wall:.2%}), {1e3 * cpu / count:.3f} of {1e3 * all_cpu / count:.3f} ms "
        f"processor ({cpu / all_cpu:.2%}) a measurement"
    )
    look_wall, look_cpu = sum(looked.walls), sum(looked.cpus)
    print(f"looking around: {1e3 * look_wall / kernels:.2f} ms wall a kernel")
    search_wall, search_cpu = sum(first.walls), sum(first.cpus)
    print(
        f"of a search of these kernels with their builds, {search_wall:.1f} s: "
        f"{(wall + look_wall) / search_wall:.2%} wall, "
        f"{(cpu + look_cpu) / search_cpu:.2%} processor"
    )
    print(
        f"least median with checks over that without: geometric mean "
        f"{statistics.geometric_mean(ratios):.4f}, from {min(ratios):.3f} to {max(ratios):.3f}"
    )
    return 1 if blamed else 0


if __name__ == "__main__":
    sys.exit(main())
