"""Goes through a protocol's file in one process and little time, for maps of thousands of sizes.

    python tests/benchmarks/experiment.py spaces/protocols/experiment-1.yaml -o out --seconds 180

`mltune protocol` checks every result in full on the host and commits every measurement, which
takes 25 to 60 ms each; the 73,000 measurements of experiment 1 would take an hour. Here a kernel
is checked in full on an awkward problem and on some sizes of the map, and then only timed: by
device events, one warm-up, then the median of five launches, or the one launch that showed it to
be slower than 1.25 times the fastest kernel of that size so far; with --rounds, the median of as
many passes over all sizes. Above 10^10 operations a kernel that was never within twice the
fastest time on the first 40 such sizes is not tried any more. Sizes are taken in an order by
chance, so that a time limit thins the map out evenly. The kernels are built by several processes
through the driver's disk cache first (--builders).

For each problem type a table is written: NAME-TYPE.csv.gz, a row per size, a column of seconds per
kernel, empty where the kernel failed or was not measured; '#' lines say where and how.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import math
import multiprocessing
import random
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from mltune.device import BuildError, LaunchError, LimitError, OpenCLDevice, Program
from mltune.errors import UsageError
from mltune.kernel import Kernel
from mltune.kernel.families import FAMILIES
from mltune.problem import Problem, Size, problem_of_size
from mltune.problem.gemm import problem_type_name
from mltune.protocol import Group, Problems, parse_protocol, run_steps
from mltune.protocol.complete import complete
from mltune.protocol.plan import plan
from mltune.protocol.space_text import space_text
from mltune.runner.probe import probe_problem
from mltune.runner.workspace import Workspace
from mltune.space.config import Config
from mltune.space.load import parse_space
from mltune.space.names import outside_names

SAMPLES = 5
GIVE_UP = 1.25
LONG_SECONDS = 2e-4  # a kernel that takes this long needs no warm-up to be told from the fastest
LARGE_FLOPS, SCOUTS, HOPELESS = 1e10, 40, 2.0
BUILD_WORK = 30  # what building takes, in sizes: for sharing out the time among problem types
CHECKED_SIZES = 3
CHECKED_ELEMENTS = 2e7
SINGLE = complete(
    {"work_group_0": 16, "work_group_1": 16, "thread_tile_0": 8, "thread_tile_1": 8,
     "depth_u": 8, "vector_width": 4, "work_group_mapping": 8}
)  # fmt: skip
"""The kernel of the paper's experiment 2 that is best for large problems."""

FAMILY = FAMILIES["tiled"]


class TimeIsUpError(Exception):
    """The time limit has come."""


def main() -> None:
    """Measure every problem type of the file, and write its table."""
    options = _options()
    protocol = parse_protocol(options.file.read_text(), str(options.file))
    device = OpenCLDevice.open(options.device)
    end = time.monotonic() + options.seconds
    options.out.mkdir(parents=True, exist_ok=True)
    works = [
        BUILD_WORK + sum(len(group.final_sizes) for group in problems.groups)
        for problems in protocol.problems
    ]
    for position, problems in enumerate(protocol.problems):
        left = end - time.monotonic()
        share = left * works[position] / sum(works[position:])  # the later ones get theirs
        run = Experiment(device, problems, options, time.monotonic() + share)
        run.go()
        name = f"{options.file.stem}-{problem_type_name(problems.contraction)}.csv.gz"
        run.write(options.out / name, str(options.file))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("-o", "--out", type=Path, required=True)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--builders", type=int, default=0, help="processes that build first")
    parser.add_argument("--rounds", type=int, default=1, help="over all sizes, one after another")
    parser.add_argument("--single", action="store_true", help="measure the 128x128 kernel, too")
    return parser.parse_args()


@dataclass(frozen=True, slots=True)
class Operands:
    """Buffers large enough for every size; each problem uses their beginnings."""

    a: Any
    b: Any
    c: Any


class Experiment:
    """The steps of one problem type on one device, with the times in memory."""

    def __init__(
        self, device: OpenCLDevice, problems: Problems, options: argparse.Namespace, end: float
    ) -> None:
        self._device = device
        self._problems = problems
        self._options = options
        self._end = end
        names = outside_names(device.info, problems.contraction.precision)
        text = space_text("experiment", problems.groups)
        self._space = parse_space(text, "experiment").bind(names)
        sizes = (
            one for group in problems.groups for one in (*group.step_sizes, *group.final_sizes)
        )
        self._sizes = tuple(dict.fromkeys(sizes))
        self._programs: dict[Config, Program | None] = {}
        self._seconds: dict[tuple[Config, Problem], float | None] = {}
        self._rounds: dict[tuple[Config, Problem], list[float | None]] = {}
        self._fastest: dict[Problem, float] = {}
        self._finalists: dict[Config, None] = {}
        self._distances: dict[Config, list[float]] = {}
        self._launches = 0
        self._operands = self._allocate()
        self._checks = self._checked_problems()

    def go(self) -> None:
        """Build ahead, then all steps of every group, until the time is up."""
        started = time.monotonic()
        self._build_ahead()
        try:
            for number, group in enumerate(self._problems.groups, start=1):
                steps = run_steps(group, self._judge, self._accepts)
                kept = ", ".join(str(report.kept) for report in steps.reports)
                self._say(f"group {number}: kernels after steps 1 to 6: {kept}", started)
                self._finish(group, [*steps.kernels, *([SINGLE] if self._options.single else [])])
                self._say(f"group {number}: done", started)
        except TimeIsUpError:
            self._say("the time is up", started)

    def write(self, path: Path, source: str) -> None:
        """Write the table of the last steps' sizes."""
        final = {size for group in self._problems.groups for size in group.final_sizes}
        problems = [self._problem(size) for size in self._sizes if size in final]
        kernels = list(self._finalists)
        info = self._device.info
        text = io.StringIO()
        for line in (
            f"device: {info.name}",
            f"compute units: {info.compute_units}",
            f"driver: {info.platform} {info.driver_version}",
            f"date: {datetime.now(UTC).strftime('%Y-%m-%d')}",
            f"protocol: {source}",
            f"time: kernel time by device events, one warm-up, median of {SAMPLES}, or one launch "
            f"if slower than {GIVE_UP} of the fastest; median of {self._options.rounds} rounds",
        ):
            text.write(f"# {line}\n")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["m", "n", "k", *(self._kernel(config).name for config in kernels)])
        rows = 0
        for problem in problems:
            cells = [self._seconds.get((config, problem)) for config in kernels]
            if any(cell is not None for cell in cells):
                rows += 1
                times = ("" if cell is None else f"{cell:.4e}" for cell in cells)
                writer.writerow([problem.m, problem.n, problem.k, *times])
        path.write_bytes(gzip.compress(text.getvalue().encode(), mtime=0))
        print(f"{path}: {rows} of {len(problems)} sizes, {len(kernels)} kernels", flush=True)

    def _judge(
        self, step: int, configs: Sequence[Config], sizes: Sequence[Size]
    ) -> list[float | None]:
        problems = [self._problem(size) for size in sizes]
        for problem in problems:
            for config in configs:
                self._measure(config, problem)
        return [self._worth(config, problems) for config in configs]

    def _worth(self, config: Config, problems: Sequence[Problem]) -> float | None:
        times = [self._seconds[config, problem] for problem in problems]
        logs = [math.log(one) for one in times if one is not None]
        return math.fsum(logs) / len(logs) if len(logs) == len(times) else None

    def _finish(self, group: Group, kernels: Sequence[Config]) -> None:
        problems = [self._problem(size) for size in group.final_sizes]
        random.Random(0).shuffle(problems)
        right = [config for config in dict.fromkeys(kernels) if self._is_right(config)]
        self._finalists |= dict.fromkeys(right)
        for number, problem in product(range(self._options.rounds), problems):
            for config in right:
                if self._may_win(config, problem):
                    self._measure(config, problem, number)
            self._note_distances(problem)
            # The next size has its fastest kernel early, so that the others are given up soon.
            right.sort(key=lambda config: self._seconds.get((config, problem)) or math.inf)

    def _may_win(self, config: Config, problem: Problem) -> bool:
        """Whether a large size is worth a kernel's while: not if it never came near before."""
        scouts = self._distances.get(config, [])
        is_large = problem.flops > LARGE_FLOPS
        return not is_large or len(scouts) < SCOUTS or min(scouts) < HOPELESS

    def _note_distances(self, problem: Problem) -> None:
        """Note how far each kernel is from the fastest of a large size."""
        for config in self._finalists if problem.flops > LARGE_FLOPS else ():
            seconds = self._seconds.get((config, problem))
            if seconds is not None:
                self._distances.setdefault(config, []).append(seconds / self._fastest[problem])

    def _measure(self, config: Config, problem: Problem, number: int = 0) -> None:
        """Time a kernel, once a round; the median of the rounds is its time."""
        times = self._rounds.setdefault((config, problem), [])
        if len(times) > number:
            return
        if time.monotonic() > self._end:
            raise TimeIsUpError
        program = self._built(config)
        times.append(None if program is None else self._time(program, problem))
        known = [one for one in times if one is not None]
        seconds = statistics.median(known) if len(known) == len(times) else None
        self._seconds[config, problem] = seconds
        if seconds is not None:
            self._fastest[problem] = min(seconds, self._fastest.get(problem, seconds))

    def _time(self, program: Program, problem: Problem) -> float | None:
        try:
            first = self._launch(program, problem)  # the warm-up
            limit = GIVE_UP * self._fastest.get(problem, math.inf)
            if first > limit and first > LONG_SECONDS:
                return first
            times = [self._launch(program, problem)]
            if times[0] <= limit:
                times += [self._launch(program, problem) for _ in range(SAMPLES - 1)]
        except (LaunchError, LimitError):
            return None
        return statistics.median(times)

    def _launch(self, program: Program, problem: Problem) -> float:
        self._launches += 1
        buffers = self._operands
        execution = self._device.launch(
            program, problem.canonical(), a=buffers.a, b=buffers.b, c=buffers.c
        )
        execution.wait()
        return execution.seconds

    def _built(self, config: Config) -> Program | None:
        """Build a kernel and check it on the awkward problem; None if it is not right."""
        if config not in self._programs:
            self._programs[config] = None
            try:
                program = self._device.build(self._kernel(config))
                probe = Workspace.make(self._device, probe_problem(program.kernel), 0)
                if self._agrees(program, probe):
                    self._programs[config] = program
            except (BuildError, LaunchError, LimitError) as error:
                print(f"{self._kernel(config).name}: {error}", flush=True)
        return self._programs[config]

    def _is_right(self, config: Config) -> bool:
        """Whether a kernel's whole results on a few sizes of the map are right."""
        program = self._built(config)
        return program is not None and all(
            self._agrees(program, workspace) for workspace in self._checks
        )

    def _agrees(self, program: Program, workspace: Workspace) -> bool:
        workspace.restore()
        workspace.launch(program).wait()
        fault = workspace.check().fault
        if fault:
            print(f"{program.kernel.name}: {fault}", flush=True)
        return not fault

    def _build_ahead(self) -> None:
        if not self._options.builders:
            return
        configs = dict.fromkeys(
            config
            for group in self._problems.groups
            for config in (*plan(group, self._accepts).configs, SINGLE)
        )
        kernels = [self._kernel(config) for config in configs]
        started = time.monotonic()
        context = multiprocessing.get_context("spawn")
        with context.Pool(self._options.builders, _open, (self._options.device,)) as pool:
            pool.map(_build, kernels, chunksize=4)
        self._say(f"{len(kernels)} kernels built ahead", started)

    def _accepts(self, config: Config) -> bool:
        if config not in self._space:
            return False
        try:
            self._kernel(config)
        except UsageError:
            return False
        return True

    def _kernel(self, config: Config) -> Kernel:
        return FAMILY.generate(self._problems.contraction, config)

    def _problem(self, size: Size) -> Problem:
        return problem_of_size(self._problems.contraction, size.extents)

    def _allocate(self) -> Operands:
        problems = [self._problem(size).canonical() for size in self._sizes]
        rng = np.random.default_rng(0)
        buffers = {}
        for tensor in "abc":
            count = max(problem.span(tensor) for problem in problems)
            buffers[tensor] = self._device.allocate(count * 4)
            drawn = 2 * rng.random(count, np.float32) - 1
            self._device.write(buffers[tensor], drawn)
        return Operands(**buffers)

    def _checked_problems(self) -> list[Workspace]:
        """A few sizes across the map on which every kernel's result is compared in full."""
        problems = sorted(
            (self._problem(size).canonical() for size in self._sizes), key=lambda p: p.m * p.n
        )
        small = [
            one
            for one in problems
            if one.span("a") + one.span("b") + one.span("c") <= CHECKED_ELEMENTS
        ]
        step = max(1, (len(small) - 1) // max(1, CHECKED_SIZES - 1))
        return [Workspace.make(self._device, one, 0) for one in small[::step][:CHECKED_SIZES]]

    def _say(self, what: str, started: float) -> None:
        kind = problem_type_name(self._problems.contraction)
        spent = time.monotonic() - started
        print(f"{kind}: {what}; {spent:.0f} s, {self._launches:,} launches", flush=True)


_builder: OpenCLDevice | None = None


def _open(spec: str) -> None:
    globals()["_builder"] = OpenCLDevice.open(spec)


def _build(kernel: Kernel) -> None:
    """Build for the driver's disk cache; whoever measures will find what is wrong with it."""
    assert _builder is not None  # the pool's processes begin with `_open`
    try:
        _builder.build(kernel)
    except BuildError:
        return


if __name__ == "__main__":
    main()
