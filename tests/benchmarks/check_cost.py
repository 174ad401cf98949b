"""What it costs to check timed launches and the memory around matrices, as shares of a search.

    python -m tests.benchmarks.check_cost [--device D] [--space FILE] [--configs 20] [--sizes ...]

It builds kernels of a space and measures each on every size several times, with the checks and
without, in turns, within one process. What is looked at once for each kernel is timed by itself.
It prints the wall and processor time of both, the checks' share of them, and their share of a
search of these kernels, whose builds count too. What a check costs is the median difference of
neighbours, one with and one without, over all pairs: other work comes and goes. With it goes how
far apart the middle half of the differences is, and the standard error that follows. Times with
and without are compared as well: a check must not make a kernel look slower.

A measurement without checks leaves C where it is, too. Its first result is known in both, as it
would be compared without any checks of timed launches. `--extra-seconds 0` takes the same number
of samples in both; with more, a busy machine makes pairs differ by what is no check.
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

from mltune.device import open_device
from mltune.errors import MltuneError
from mltune.kernel import Kernel
from mltune.kernel.families import FAMILIES
from mltune.kernel.space_file import load_space
from mltune.measurement import Status
from mltune.problem import gemm, gemm_problem
from mltune.problem.precision import Precision
from mltune.resources import data_folder
from mltune.runner import timing
from mltune.runner.arena import Arena, Place
from mltune.runner.bench import Bench
from mltune.runner.messages import Outcome, Request
from mltune.runner.sequences import Sequences
from mltune.runner.timing import SamplingPlan
from mltune.runner.workspace import Workspace
from mltune.space.names import outside_names

_move = Arena.move
_take = Sequences.take


def stay(arena: Arena, tenant: object, nbytes: int) -> Place:
    """Leave a tensor where it is; replaces `Arena.move`."""
    if arena._place is None or arena._tenant is not tenant:
        return _move(arena, tenant, nbytes)
    return arena._place


def take_unchecked(sequences: Sequences, count: int, *, is_checked: bool = False) -> list[float]:
    """Take samples without checks, in the place of `Sequences.take`."""
    return _take(sequences, count)


@dataclass(slots=True)
class Spent:
    """Wall and processor seconds of pieces of work."""

    walls: list[float] = field(default_factory=list)
    cpus: list[float] = field(default_factory=list)

    def of(self, work: Callable[[], Outcome]) -> Outcome:
        """Do the work, and add its time."""
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
    parser.add_argument("--extra-seconds", type=float, default=0.02)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    device = open_device(args.device)
    kind = "cpu" if device.info.kind == "cpu" else "gpu"
    path = args.space or data_folder("spaces") / f"tiled-{kind}.yaml"
    space = load_space(path).bind(outside_names(device.info, gemm(Precision.SINGLE)))
    family = FAMILIES[space.family]
    contraction = gemm(Precision.SINGLE)
    sizes = [tuple(map(int, size.split("x"))) for size in args.sizes.split(",")]
    problems = [gemm_problem(contraction, *size) for size in sizes]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4
    bench = Bench(device, lambda stage: None, min(memory, device.info.global_mem_bytes // 4))

    def request(kernel: Kernel, number: int, check: bool = False) -> Request:
        plan = SamplingPlan(samples=7, extra_seconds=args.extra_seconds)
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
    extra: list[tuple[float, float]] = []  # wall and processor seconds, of each pair
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
                        with (
                            patch.object(timing, "_checked_launches", lambda *_: {}),
                            patch.object(Sequences, "take", take_unchecked),
                            patch.object(Arena, "move", stay),
                        ):
                            one = spent.of(work)
                    blamed += one.status is not Status.OK
                    samples[is_checked] += len(one.seconds)
                    medians[is_checked].append(statistics.median(one.seconds))
                ratios.append(min(medians[True]) / min(medians[False]))
                checked, unchecked = both[True], both[False]
                whole += zip(checked.walls, checked.cpus, strict=True)
                extra += [
                    (wall - less_wall, cpu - less_cpu)
                    for wall, cpu, less_wall, less_cpu in zip(
                        checked.walls, checked.cpus, unchecked.walls, unchecked.cpus, strict=True
                    )
                ]
    print(f"{device.info.name} ({device.info.driver_version}), {kernels} kernels of {path}")
    print(f"blamed: {blamed}")
    print(f"samples: {samples[True]} with checks, {samples[False]} without")
    for place, (name, looks, searched) in enumerate(
        (("wall", looked.walls, first.walls), ("processor", looked.cpus, first.cpus))
    ):
        differences = np.array([each[place] for each in extra])
        low, cost, high = np.quantile(differences, (0.25, 0.5, 0.75))
        error = 0.93 * (high - low) / len(differences) ** 0.5  # as of a normal distribution
        measured = statistics.median(each[place] for each in whole)
        look = statistics.median(looks)
        share = (len(first.walls) * cost + len(looks) * look) / sum(searched)
        print(
            f"{name}: {1e3 * cost:.3f} ({1e3 * low:.3f} to {1e3 * high:.3f}, standard error "
            f"{1e3 * error:.3f}) of {1e3 * measured:.3f} ms a measurement; looking around "
            f"{1e3 * look:.2f} ms a kernel; {share:.2%} of a search of these kernels with their "
            f"builds, {sum(searched):.1f} s"
        )
    print(
        f"least median with checks over that without: geometric mean "
        f"{statistics.geometric_mean(ratios):.4f}, from {min(ratios):.3f} to {max(ratios):.3f}"
    )
    return 1 if blamed else 0


if __name__ == "__main__":
    sys.exit(main())
