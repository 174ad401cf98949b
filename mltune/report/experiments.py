"""Experiments as GEMMbench has them: one kernel on one size, repeated, with mean and deviation."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from mltune.measurement.measurement import Measurement, Status
from mltune.problem import Problem
from mltune.space.config import Config


@dataclass(frozen=True, slots=True)
class Experiment:
    """The repetitions of one config on one problem, in the order they were measured."""

    repetitions: tuple[Measurement, ...]

    @property
    def first(self) -> Measurement:
        """The repetition that stands for what all have in common."""
        return self.repetitions[0]

    @property
    def problem(self) -> Problem:
        """What was computed."""
        return self.first.problem

    @property
    def label(self) -> str:
        """Which kernel, with which work-group."""
        return config_label(self.first)

    @property
    def status(self) -> Status:
        """How it ended: ok if every repetition was, else as the first one that was not."""
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
        """The standard deviation of a sample (divided by n - 1); None below two repetitions."""
        speeds = [speed for speed in self.gflops if speed is not None]
        if len(speeds) < max(2, len(self.repetitions)):
            return None
        return statistics.stdev(speeds)

    @property
    def max_error(self) -> float | None:
        """The largest error of all repetitions; None if none was computed."""
        errors = (row.max_error for row in self.repetitions if row.max_error is not None)
        return max(errors, default=None)

    def observed(self, name: str) -> float | None:
        """The mean of something observed beside the time; None if it was not."""
        seen = [value for row in self.repetitions if (value := row.seen(name)) is not None]
        return statistics.fmean(seen) if seen else None


def experiments(measurements: Iterable[Measurement]) -> tuple[Experiment, ...]:
    """Put the repetitions of each config on each problem together, in the order they began."""
    rows: dict[tuple[Config, Problem], list[Measurement]] = {}
    for row in measurements:
        rows.setdefault((row.config, row.problem), []).append(row)
    return tuple(Experiment(tuple(found)) for found in rows.values())


def config_label(row: Measurement) -> str:
    """Name a kernel for people: a hand-written one with its work-group, else by its name."""
    config = row.config
    if "kernel" not in config:
        return row.kernel
    return f"{config['kernel']} {config.get('work_group_0')}x{config.get('work_group_1')}"
