"""Goes through a protocol's file in one process and little time, for maps of thousands of sizes.

    python tests/benchmarks/experiment.py spaces/protocols/experiment-1.yaml -o out --seconds 180

`mltune protocol` checks every result in full on the host and commits every measurement, which
takes 25 to 60 ms each; the 200,000 measurements of experiment 1 would take hours. Here a kernel is
checked in full on an awkward problem and on some sizes of the map, and then only timed: by device
events, one warm-up, then the median of five launches (of three, without a warm-up, if they take
over 0.2 ms), or the one launch that showed it to be slower than 1.25 (1.05) times the fastest
kernel of that size so far; with --rounds, the median of as many passes over all sizes. Above 3e9
operations only those kernels are tried that were within 1.15 times the fastest on one of the four
nearest sizes measured so far, once 40 sizes are known. Sizes are taken in an order by chance, so
that a time limit thins the map out evenly. The kernels of each step are built by several processes
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

from mltune.compat.tensile import Group, Problems, Protocol, parse_protocol, run_steps
from mltune.compat.tensile.complete import complete
from mltune.compat.tensile.space_text import space_text
from mltune.device import BuildError, Device, LaunchError, LimitError, Program, open_device
from mltune.errors import UsageError
from mltune.kernel import Kernel
from mltune.kernel.families import FAMILIES
from mltune.kernel.space_file import parse_space
from mltune.problem import Problem, Size, problem_of_size
from mltune.problem.gemm import problem_type_name
from mltune.runner.probe import probe_problem
from mltune.runner.scratch import Scratch
from mltune.runner.timed import seconds_of
from mltune.runner.workspace import Workspace
from mltune.space.config import Config
from mltune.space.names import outside_names

SAMPLES, GIVE_UP = 5, 1.25
LONG_SECONDS, LONG_SAMPLES, LONG_GIVE_UP = 2e-4, 3, 1.05  # such launches need no warm-up
LARGE_FLOPS, SCOUTS, NEIGHBOURS, HOPELESS = 3e9, 40, 4, 1.15
NUMBERS = 1 << 22  # drawn for the operands, over and over
BUILD_WORK = 60  # what building takes, in sizes: for sharing out the time among problem types
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
    end = time.monotonic() + options.seconds
    options.out.mkdir(parents=True, exist_ok=True)
    with Builders(options.device, options.builders) as builders:
        _measure_all(protocol, options, builders, end)


def _measure_all(
    protocol: Protocol, options: argparse.Namespace, builders: Builders, end: float
) -> None:
    device = open_device(options.device)
    works = [
        BUILD_WORK + sum(len(group.final_sizes) for group in problems.groups)
        for problems in protocol.problems
    ]
    for position, problems in enumerate(protocol.problems):
        left = end - time.monotonic()
        share = left * works[position] / sum(works[position:])  # the later ones get theirs
        run = Experiment(device, builders, problems, options, time.monotonic() + share)
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


class Builders:
    """Processes that build kernels for the driver's disk cache; their number may be 0."""

    def __init__(self, device: str, count: int) -> None:
        context = multiprocessing.get_context("spawn")
        self._pool = context.Pool(count, _open, (device,)) if count else None

    def __enter__(self) -> Builders:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool:
            self._pool.terminate()

    def build(self, kernels: Sequence[Kernel]) -> None:
        """Return when all of them are built; at once if there are no processes."""
        if self._pool:
            self._pool.map(_build, kernels, chunksize=2)


@dataclass(frozen=True, slots=True)
class Operands:
    """Buffers that are large enough for every size; each problem uses the first part of them."""

    a: Any
    b: Any
    c: Any


class Nearby:
    """Chooses the kernels to try on a size: those that were fast on neighbouring sizes."""

    def __init__(self) -> None:
        self._places: list[tuple[float, ...]] = []
        self._distances: list[dict[Config, float]] = []

    def note(self, problem: Problem, distances: dict[Config, float]) -> None:
        """Record each kernel's time / the fastest kernel's time."""
        self._places.append(_place(problem))
        self._distances.append(distances)

    def order(self, problem: Problem, configs: Sequence[Config]) -> list[Config]:
        """Return the kernels to try, the most promising first: so slow ones are dropped early."""
        if not self._places:
            return list(configs)
        away = np.linalg.norm(np.array(self._places) - _place(problem), axis=1)
        nearest = [self._distances[row] for row in np.argsort(away)[:NEIGHBOURS]]
        worth = {
            config: min(distances.get(config, math.inf) for distances in nearest)
            for config in configs
        }
        knows_enough = problem.flops > LARGE_FLOPS and len(self._places) >= SCOUTS
        bound = HOPELESS if knows_enough else math.inf
        return sorted((one for one in configs if worth[one] <= bound), key=lambda one: worth[one])


def _place(problem: Problem) -> tuple[float, ...]:
    return tuple(math.log(extent) for extent in (problem.m, problem.n, problem.k))


class Experiment:
    """The steps of one problem type on one device, with the times in memory."""

    def __init__(
        self,
        device: Device,
        builders: Builders,
        problems: Problems,
        options: argparse.Namespace,
        end: float,
    ) -> None:
        self._device = device
        self._builders = builders
        self._problems = problems
        self._options = options
        self._end = end
        names = outside_names(device.info, problems.contraction)
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
        self._launches = 0
        self._operands = self._allocate()
        self._scratch: tuple[int, Any] = (0, None)
        self._checked_scratch = Scratch(device)
        self._counters = Scratch(device, byte=0)
        self._checks = self._checked_problems()

    def go(self) -> None:
        """Perform all steps of every group, until the time limit."""
        started = time.monotonic()
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
            f"if slower than {GIVE_UP} of the fastest; over {LONG_SECONDS} s median of "
            f"{LONG_SAMPLES}, or one launch if slower than {LONG_GIVE_UP} of the fastest; median "
            f"of {self._options.rounds} rounds",
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
        self._build_ahead(configs)
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
        self._build_ahead(kernels)
        right = [config for config in dict.fromkeys(kernels) if self._is_right(config)]
        self._finalists |= dict.fromkeys(right)
        nearby = Nearby()
        for number, problem in product(range(self._options.rounds), problems):
            tried = nearby.order(problem, right)
            if self._options.single and SINGLE in right:
                tried = list(dict.fromkeys((*tried, SINGLE)))
            for config in tried:
                self._measure(config, problem, number)
            nearby.note(problem, self._distances(problem, tried))

    def _distances(self, problem: Problem, configs: Sequence[Config]) -> dict[Config, float]:
        """Return time / fastest time for each kernel that has a time."""
        known = {config: self._seconds[config, problem] for config in configs}
        return {
            config: seconds / self._fastest[problem]
            for config, seconds in known.items()
            if seconds is not None
        }

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
        fastest = self._fastest.get(problem, math.inf)
        try:
            first = self._launch(program, problem)
            if first > LONG_SECONDS:
                more = 0 if first > LONG_GIVE_UP * fastest else LONG_SAMPLES - 1
            else:
                first = self._launch(program, problem)  # that before was the warm-up
                more = 0 if first > GIVE_UP * fastest else SAMPLES - 1
            times = [first, *(self._launch(program, problem) for _ in range(more))]
        except (LaunchError, LimitError):
            return None
        return statistics.median(times)

    def _launch(self, program: Program, problem: Problem) -> float:
        self._launches += 1
        buffers = self._operands
        execution = self._device.launch(
            program,
            problem,
            a=buffers.a,
            b=buffers.b,
            c=buffers.c,
            scratch=self._scratch_of(program.kernel.scratch_bytes(problem)),
            counters=self._counters.of(program.kernel.counter_bytes(problem)),
        )
        execution.wait()
        return seconds_of(execution)

    def _scratch_of(self, nbytes: int) -> Any:
        """Return scratch memory for a kernel's passes: one buffer, which grows as needed."""
        if nbytes > self._scratch[0]:
            self._scratch = (0, None)  # freed before more is asked for
            self._scratch = (nbytes, self._device.allocate(nbytes))
        return self._scratch[1] if nbytes else None

    def _built(self, config: Config) -> Program | None:
        """Build a kernel and check it on the awkward problem; None if it is not right."""
        if config not in self._programs:
            self._programs[config] = None
            try:
                program = self._device.build(self._kernel(config))
                problem = probe_problem(program.kernel)
                probe = Workspace.make(self._device, problem, 0, scratch=self._checked_scratch)
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

    def _build_ahead(self, configs: Sequence[Config]) -> None:
        if time.monotonic() > self._end:
            raise TimeIsUpError
        new = [config for config in dict.fromkeys(configs) if config not in self._programs]
        self._builders.build([self._kernel(config) for config in new])

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
        return problem_of_size(self._problems.contraction, size.extents).canonical()

    def _allocate(self) -> Operands:
        problems = [self._problem(size) for size in self._sizes]
        drawn = 2 * np.random.default_rng(0).random(NUMBERS, np.float32) - 1
        buffers = {}
        for tensor in "abc":
            count = max(problem.span(tensor) for problem in problems)
            buffers[tensor] = self._device.allocate(count * drawn.itemsize)
            self._device.write(buffers[tensor], np.resize(drawn, count))
        return Operands(**buffers)

    def _checked_problems(self) -> list[Workspace]:
        """A few sizes across the map on which every kernel's result is compared in full."""
        problems = sorted(map(self._problem, self._sizes), key=lambda p: p.m * p.n)
        small = [
            one
            for one in problems
            if one.span("a") + one.span("b") + one.span("c") <= CHECKED_ELEMENTS
        ]
        step = max(1, (len(small) - 1) // max(1, CHECKED_SIZES - 1))
        return [
            Workspace.make(self._device, one, 0, scratch=self._checked_scratch)
            for one in small[::step][:CHECKED_SIZES]
        ]

    def _say(self, what: str, started: float) -> None:
        kind = problem_type_name(self._problems.contraction)
        spent = time.monotonic() - started
        print(f"{kind}: {what}; {spent:.0f} s, {self._launches:,} launches", flush=True)


_builder: Device | None = None


def _open(spec: str) -> None:
    globals()["_builder"] = open_device(spec)


def _build(kernel: Kernel) -> None:
    """Build for the driver's disk cache; errors are found when the kernel is measured."""
    assert _builder is not None  # the pool's processes begin with `_open`
    try:
        _builder.build(kernel)
    except BuildError:
        return


if __name__ == "__main__":
    main()
