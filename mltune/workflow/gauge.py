"""Measures on one device, and knows what it has seen there: speeds to beat, and the drift."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable

from mltune.problem import Problem
from mltune.record import Measurement
from mltune.runner import Runner
from mltune.runner.observe import ENERGY as ENERGY_SEEN
from mltune.space.config import Config
from mltune.workflow.options import ENERGY
from mltune.workflow.steady import SteadyTimes

CONTENDS = 1.1
"""A config this much slower than the fastest of a size is no contender."""

_LATELY, _NOISY = 20, 0.1  # measurements, and the disturbed share of them that is noise


class Gauge:
    """A runner with a memory.

    Args:
        runner: measures.
        objective: `time`, or `energy`: what `worth` goes by.
        before: measurements of the same device.
    """

    def __init__(self, runner: Runner, objective: str, before: Iterable[Measurement] = ()) -> None:
        self._runner = runner
        self._objective = objective
        rows = list(before)
        self._steady = SteadyTimes(rows)
        self._lately: deque[bool] = deque(maxlen=_LATELY)
        self._fastest: dict[Problem, float] = {}
        for row in rows:
            self.note_speed(row)

    def knowing(self, rows: Iterable[Measurement]) -> Gauge:
        """The same, had it seen just these measurements."""
        return Gauge(self._runner, self._objective, rows)

    def expect(self, problem: Problem) -> None:
        """Hear which problem comes next."""
        self._runner.expect(problem)

    def measure_first(self, problem: Problem, config: Config) -> Measurement:
        """Measure a config in a race; on a device that is often disturbed, without one."""
        to_beat = None if self._is_noisy else self._fastest.get(problem)
        row = self._run(problem, config, to_beat=to_beat, checked=False)
        self._lately.append(self._steady.is_clearly_disturbed(row))
        return row

    def measure_again(self, problem: Problem, config: Config) -> Measurement:
        """Measure a config that was disturbed, with all samples."""
        return self._run(problem, config, to_beat=None, checked=True)

    def measure_leader(self, problem: Problem, config: Config, *, checked: bool) -> Measurement:
        """Measure a config in the leaders' rounds."""
        row = self._run(problem, config, to_beat=self._fastest.get(problem), checked=checked)
        self.note_speed(row)
        return row

    def library_gflops(self, problems: Iterable[Problem]) -> float | None:
        """The geometric mean of the best speeds seen on some problems; None if there is none."""
        logs = [
            math.log(problem.flops / fastest / 1e9)
            for problem in problems
            if (fastest := self._fastest.get(problem)) is not None
        ]
        return math.exp(math.fsum(logs) / len(logs)) if logs else None

    def note_speed(self, measurement: Measurement) -> None:
        """Remember the fastest time of each problem."""
        median = measurement.median
        if median is not None:
            known = self._fastest.get(measurement.problem, median)
            self._fastest[measurement.problem] = min(known, median)

    def is_undisturbed(self, measurement: Measurement) -> bool:
        """Whether nothing slowed the device down meanwhile."""
        return self._steady.is_undisturbed(measurement)

    def is_doubtful(self, measurement: Measurement) -> bool:
        """Whether a disturbed config would be among the fastest, if its best sample is true."""
        if not measurement.seconds or self.is_undisturbed(measurement):
            return False
        best = min(measurement.seconds) / self._steady.slowdown(measurement)
        return best <= CONTENDS * self._fastest.get(measurement.problem, math.inf)

    def worth(self, measurement: Measurement) -> float | None:
        """What the search makes small, with the drift of the device taken out."""
        if self._objective == ENERGY:
            return measurement.seen(ENERGY_SEEN)
        return self._steady.seconds(measurement)

    @property
    def _is_noisy(self) -> bool:
        """Whether something is often in the way: three samples then decide no race."""
        return self._lately.count(True) > _NOISY * len(self._lately)

    def _run(
        self, problem: Problem, config: Config, *, to_beat: float | None, checked: bool
    ) -> Measurement:
        row = self._runner.run(problem, config, to_beat=to_beat, checked=checked)
        self._steady.note(row)
        return row
