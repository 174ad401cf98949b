"""Measures on one device; keeps the speeds to beat and the drift."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from mltune.measurement import Measurement, Phase
from mltune.problem import Problem
from mltune.run.run_info import ENERGY, TIME
from mltune.runner import Runner
from mltune.runner.observe import ENERGY as ENERGY_SEEN
from mltune.space.config import Config
from mltune.tuning.drift import DriftCorrection
from mltune.tuning.mean import geometric_mean

CONTENDS = 1.1
"""A config this much slower than the fastest of a size is no contender."""

# measurements, and the share of disturbed ones that makes a device noisy
_LATELY, _NOISY = 20, 0.1


class MeasurementSession:
    """A runner with the state of a run.

    Args:
        runner: measures.
        objective: `time` or `energy`: what `value` returns.
        before: measurements of the same device.
        races: whether a config that is clearly slower than the best one gets fewer samples.
        retries: how often a disturbed measurement is repeated.
    """

    def __init__(
        self,
        runner: Runner,
        objective: str,
        before: Iterable[Measurement] = (),
        *,
        races: bool = True,
        retries: int = 2,
    ) -> None:
        self._runner = runner
        self._objective = objective
        self._races = races
        self._retries = retries
        self._drift = DriftCorrection()
        self._lately: deque[bool] = deque(maxlen=_LATELY)
        self._fastest: dict[Problem, float] = {}
        self._told: dict[tuple[int, Phase, Problem], float | None] = {}
        """The value of each measurement when it was made."""
        for row in before:
            self._drift.note(row)
            self._note(row)

    def knowing(self, rows: Iterable[Measurement]) -> MeasurementSession:
        """Return the same session with these earlier measurements only."""
        return MeasurementSession(self._runner, self._objective, rows)

    def expect(self, problem: Problem) -> None:
        """Prefetch hint: the problem that will be measured next."""
        self._runner.expect(problem)

    def measure(
        self,
        problem: Problem,
        config: Config,
        phase: Phase,
        keep: Callable[[Measurement], Measurement],
        end: float = math.inf,
    ) -> Measurement:
        """Measure a config of a trial, and return the last measurement.

        A disturbed measurement is repeated if the config may be among the fastest, but not after
        `end`, by `time.monotonic`. The config races against the fastest one so far, except on a
        device that is often disturbed.
        """
        to_beat = self._fastest.get(problem) if self._races and not self._is_noisy else None
        row = self._run(problem, config, to_beat=to_beat, checked=False)
        self._lately.append(self._drift.is_clearly_disturbed(row))
        for _ in range(self._retries):
            if not self.is_doubtful(row) or time.monotonic() >= end:
                break
            keep(replace(row, phase=Phase.DISTURBED))
            row = self._run(problem, config, to_beat=None, checked=True)
        row = keep(replace(row, phase=phase))
        self._note(row)
        return row

    def measure_leader(self, problem: Problem, config: Config, *, checked: bool) -> Measurement:
        """Measure a config in the leaders' rounds."""
        row = self._run(problem, config, to_beat=self._fastest.get(problem), checked=checked)
        self.note_speed(row)
        return row

    def library_gflops(self, problems: Iterable[Problem]) -> float | None:
        """Return the geometric mean of the best speeds on some problems; None if there is none."""
        speeds = self._speeds(problems)
        return geometric_mean(speeds) if speeds else None

    def best_gflops(self, problems: Iterable[Problem]) -> float | None:
        """Return the best speed on any of some problems; None if there is none."""
        return max(self._speeds(problems), default=None)

    def _speeds(self, problems: Iterable[Problem]) -> list[float]:
        return [
            problem.flops / fastest / 1e9
            for problem in problems
            if (fastest := self._fastest.get(problem)) is not None
        ]

    def note_speed(self, measurement: Measurement) -> None:
        """Note the fastest time of each problem."""
        if (median := measurement.median) is not None:
            self._note_time(measurement.problem, median)

    def note_values(self, problems: Sequence[Problem], values: Mapping[int, float]) -> None:
        """Note times that another process found on a device of the same model."""
        if self._objective != TIME:
            return
        for size, seconds in values.items():
            self._note_time(problems[size], seconds)

    def _note_time(self, problem: Problem, seconds: float) -> None:
        self._fastest[problem] = min(seconds, self._fastest.get(problem, seconds))

    def is_undisturbed(self, measurement: Measurement) -> bool:
        """Whether nothing slowed the device down."""
        return self._drift.is_undisturbed(measurement)

    def is_doubtful(self, measurement: Measurement) -> bool:
        """Whether a disturbed config would be among the fastest by its best sample."""
        if not measurement.seconds or self.is_undisturbed(measurement):
            return False
        best = min(measurement.seconds) / self._drift.slowdown(measurement)
        return best <= CONTENDS * self._fastest.get(measurement.problem, math.inf)

    def value(self, measurement: Measurement) -> float | None:
        """Return the value that the search minimises, corrected for drift."""
        if self._objective == ENERGY:
            return measurement.seen(ENERGY_SEEN)
        return self._drift.seconds(measurement)

    def told_value(self, measurement: Measurement) -> float | None:
        """Return a trial's value as the study was told it, without the drift that was known later.

        So a resumed search learns the same values.
        """
        known = (measurement.trial, measurement.phase, measurement.problem)
        return self._told[known] if known in self._told else self.value(measurement)

    def _note(self, row: Measurement) -> None:
        self.note_speed(row)
        self._told[row.trial, row.phase, row.problem] = self.value(row)

    @property
    def _is_noisy(self) -> bool:
        """Whether disturbances are frequent; then three samples do not decide a race."""
        return self._lately.count(True) > _NOISY * len(self._lately)

    def _run(
        self, problem: Problem, config: Config, *, to_beat: float | None, checked: bool
    ) -> Measurement:
        row = self._runner.run(problem, config, to_beat=to_beat, checked=checked)
        self._drift.note(row)
        return row
