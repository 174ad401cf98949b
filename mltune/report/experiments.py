"""Experiments as in GEMMbench: one kernel on one size, repeated, with mean and deviation."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from mltune.measurement.measurement import Measurement, Status
from mltune.problem import Problem
from mltune.space.config import Config


@dataclass(frozen=True, slots=True)
class Experiment:
    """The repetitions of one config on one problem, in the order of their measurement."""

    repetitions: tuple[Measurement, ...]

    @property
    def first(self) -> Measurement:
        """The first repetition, for the properties that all share."""
        return self.repetitions[0]

    @property
    def problem(self) -> Problem:
        """The problem that was computed."""
        return self.first.problem

    @property
    def label(self) -> str:
        """The kernel and its work-group."""
        return config_label(self.first)

    @property
    def status(self) -> Status:
        """The status: ok if every repetition was, else that of the first one that was not."""
        statuses = (row.status for row in self.repetitions)
        return next((status for status in statuses if status is not Status.OK), Status.OK)

    @property
    def gflops(self) -> tuple[float | None, ...]:
        """The speed of each repetition; None where it failed."""
        return tuple(row.gflops for row in self.repetitions)

    @property
    def mean(self) -> float | None:
        """The mean speed of the repetitions; None if one failed."""
        speeds = [speed for speed in self.gflops if speed is not None]
        return statistics.fmean(speeds) if len(speeds) == len(self.repetitions) else None

    @property
    def deviation(self) -> float | None:
        """The sample standard deviation (divided by n - 1); None below two repetitions."""
        speeds = [speed for speed in self.gflops if speed is not None]
        if len(speeds) < max(2, len(self.repetitions)):
            return None
        return statistics.stdev(speeds)

    @property
    def max_error(self) -> float | None:
        """The largest error of all repetitions; None if none was measured."""
        errors = (row.max_error for row in self.repetitions if row.max_error is not None)
        return max(errors, default=None)

    def observed(self, name: str) -> float | None:
        """Return the mean of an observed value, such as energy; None if it was not observed."""
        seen = [value for row in self.repetitions if (value := row.seen(name)) is not None]
        return statistics.fmean(seen) if seen else None


def experiments(measurements: Iterable[Measurement]) -> tuple[Experiment, ...]:
    """Group the repetitions of each config on each problem, in the order they began."""
    rows: dict[tuple[Config, Problem], list[Measurement]] = {}
    for row in measurements:
        rows.setdefault((row.config, row.problem), []).append(row)
    return tuple(Experiment(tuple(found)) for found in rows.values())


def config_label(row: Measurement) -> str:
    """Return a kernel's label: its name, for a hand-written kernel with its work-group."""
    config = row.config
    if "kernel" not in config:
        return row.kernel
    return f"{config['kernel']} {config.get('work_group_0')}x{config.get('work_group_1')}"
