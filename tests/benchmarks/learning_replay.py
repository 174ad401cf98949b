"""How good is what calls teach, by recorded times and a simulated clock? Needs no device.

    python -m tests.benchmarks.learning_replay runs/2026-11-21-sgemm-nn-nvidia-h200

Each size is held out once for every seed, in four parts: a rule is fitted to the others, and the
size is called while selection learns. A call seems to take the recorded time, with the noise
that single launches have in these runs (normal, 0.4 us and 0.4 %; one in eight is late by 1.5 us
and 2 % in the mean), and the clock steps by 32 ns, as an H100's and an H200's do, or by 1 us.

The share is the portfolio's best recorded time / that of the kernel in use after so many calls.
The extra time of a thousand calls counts those that tried a worse kernel than the chosen one.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pyopencl as cl

from mltune.distil import TimeTable
from mltune.distil.fit import Settings, folds
from mltune.distil.methods import METHODS, TAUGHT
from mltune.distil.teacher import teach
from mltune.distil.traffic import memory_of
from mltune.runtime.learning import Learner, candidates
from mltune.selector import Selector
from mltune.workflow.expected_times import rule_table
from mltune.workflow.recorded import Recorded, read_runs
from tests.benchmarks.learning import told

CALLS = (10, 100, 1000)


@dataclass(frozen=True)
class Case:
    """A held-out size, with the seconds of the portfolio's kernels."""

    selector: Selector
    size: tuple[int, int, int, int]
    seconds: dict[int, float]

    def share(self, number: int) -> float:
        """Time of the portfolio's fastest kernel / time of a kernel."""
        return min(self.seconds.values()) / self.seconds[number]


def cases(
    recorded: Recorded, table: TimeTable, settings: Settings, method: str, seeds: Sequence[int]
) -> Iterator[Case]:
    """Return all held-out sizes with a time of the chosen kernel, for each seed."""
    for seed in seeds:
        for train, test in folds(len(table.sizes), 4, seed):
            known = table.take(train)
            fitted = METHODS[method](known, settings)
            is_taught = method == TAUGHT and not fitted.formulas
            selector = Selector(
                contraction=recorded.contraction,
                portfolio=tuple(table.kernels[column] for column in fitted.portfolio),
                tree=fitted.tree,
                formulas=fitted.formulas,
                teacher=teach(known, settings).tells if is_taught else (),
            )
            for row in test:
                size = table.sizes[row]
                times = table.seconds[row, list(fitted.portfolio)]
                seconds = {
                    number: float(time) for number, time in enumerate(times) if np.isfinite(time)
                }
                if candidates(selector, size)[0] in seconds:
                    yield Case(selector, size, seconds)


@dataclass
class Clock:
    """Simulates the times of launches by events."""

    rng: random.Random
    step: float

    def event(self, seconds: float) -> cl.Event:
        """A launch that has ended."""
        spent = seconds + self.rng.gauss(0, 0.4e-6 + 0.004 * seconds)
        if self.rng.random() < 1 / 8:
            spent += self.rng.expovariate(1 / (1.5e-6 + 0.02 * seconds))
        begin = self.rng.random()
        end = int((begin * self.step + max(spent, seconds / 2)) / self.step) * self.step
        profile = SimpleNamespace(start=0, end=end * 1e9)
        done = cl.command_execution_status.COMPLETE
        return cast(cl.Event, SimpleNamespace(command_execution_status=done, profile=profile))


def learn(case: Case, clock: Clock, file: Path) -> tuple[list[float], float]:
    """Judge the speed after some calls, and a thousand calls with and without learning."""
    learner = Learner(case.selector, file)
    spent, found = 0.0, []
    for call in range(1, max(CALLS) + 1):
        while (use := learner.use("d", case.size)).number not in case.seconds:
            learner.fails("d", case.size, use.number)
        spent += case.seconds[use.number]
        if use.is_try:
            event = clock.event(case.seconds[use.number])
            learner.watch("d", case.size, use.number, [event])
        if call in CALLS:
            best = learner.best("d", case.size)
            assert best is not None
            found.append(case.share(best))
    return found, spent / max(CALLS) / case.seconds[candidates(case.selector, case.size)[0]]


def main() -> None:
    """Judge the rule, the best of what is tried, and what was learned."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=[400, 401, 402])
    parser.add_argument("--method", default="formulas", choices=METHODS)
    options = parser.parse_args()
    recorded = read_runs(options.runs)
    settings = Settings.of(
        recorded.contraction,
        compute_units=recorded.device.compute_units,
        memory=memory_of(recorded.device, recorded.contraction),
    )
    table = rule_table(recorded.measurements, recorded.infos, recorded.timed)
    found = list(cases(recorded, table, settings, options.method, options.seeds))
    print(f"{recorded.device.name}, {len(found)} sizes, splits {options.seeds}")
    print("share of the portfolio's best: geometric mean / 10th percentile / worst")
    tried = [
        [each.share(number) for number in candidates(each.selector, each.size)
         if number in each.seconds]
        for each in found
    ]  # fmt: skip
    _show("the rule", [shares[0] for shares in tried])
    _show("best of tried", list(map(max, tried)))
    for step in (32e-9, 1e-6):
        clock = Clock(random.Random(0), step)
        with tempfile.TemporaryDirectory() as folder:
            files = [Path(folder) / f"{place}.json" for place in range(len(found))]
            learned = [learn(each, clock, file) for each, file in zip(found, files, strict=True)]
        for place, calls in enumerate(CALLS):
            _show(f"{calls} calls, {step * 1e9:.0f} ns", [shares[place] for shares, _ in learned])
        ratios = [ratio for _, ratio in learned]
        print(f"  a thousand calls / without: {np.mean(ratios):.4f}, at most {max(ratios):.4f}")


def _show(name: str, shares: Sequence[float]) -> None:
    print(f"  {name:18} {told(shares)}")


if __name__ == "__main__":
    main()
