"""Trials: the measurements of one config over the sizes of a run, and their values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from mltune.measurement import Measurement, Phase, Status
from mltune.problem import Problem
from mltune.space import Config

ValueOf = Callable[[Measurement], float | None]
"""Returns a measurement's value, smaller being better; None if it failed."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One config, built once and measured on the sizes of a run."""

    number: int
    config: Config
    measurements: tuple[Measurement, ...]

    @property
    def failure(self) -> Measurement | None:
        """The first measurement that failed; None if there is none."""
        return next((m for m in self.measurements if m.status is not Status.OK), None)

    @property
    def status(self) -> Status:
        """The status of the first measurement that failed, or `OK`."""
        return self.failure.status if self.failure else Status.OK

    def missing(self, problems: Sequence[Problem]) -> tuple[Problem, ...]:
        """Return the problems still to be measured; none if the config failed."""
        if self.failure is not None:
            return ()
        measured = {m.problem for m in self.measurements}
        return tuple(problem for problem in problems if problem not in measured)

    @property
    def value(self) -> float | None:
        """The value to minimise: the mean log of the medians in seconds; None if failed.

        In the mean of logs all sizes have the same weight: 10 % faster counts the same on each.
        """
        return self.value_by(lambda measurement: measurement.median)

    def value_by(self, value_of: ValueOf) -> float | None:
        """Return the mean log of another quantity to minimise; None if it failed or is unknown."""
        values = [value_of(m) for m in self.measurements]
        logs = [math.log(each) for each in values if each is not None]
        if self.failure is not None or not logs or len(logs) < len(values):
            return None
        return math.fsum(logs) / len(logs)

    def values_by(self, problems: Sequence[Problem], value_of: ValueOf) -> dict[int, float]:
        """Return the values by the number of the problem; empty if the trial failed."""
        if self.failure is not None:
            return {}
        values = {m.problem: value_of(m) for m in self.measurements}
        return {
            number: value
            for number, problem in enumerate(problems)
            if (value := values.get(problem)) is not None
        }


def group_trials(measurements: Iterable[Measurement]) -> tuple[Trial, ...]:
    """Group the measurements of a search by trial number, in that order."""
    rows: dict[int, list[Measurement]] = {}
    for measurement in measurements:
        rows.setdefault(measurement.trial, []).append(measurement)
    return tuple(
        Trial(number, rows[number][0].config, tuple(rows[number])) for number in sorted(rows)
    )


def leaders(
    trials: Sequence[Trial],
    per_size: int = 3,
    overall: int = 4,
    value_of: ValueOf = lambda measurement: measurement.median,
) -> tuple[Trial, ...]:
    """Return the trials worth measuring again: the best of each size, and of all sizes.

    Args:
        trials: of one run.
        per_size: number of the best of each size.
        overall: number of the best by the geometric mean.
        value_of: returns the value of a measurement.
    """
    values = values_over_all_sizes(trials, value_of)
    sound = [trial for trial in trials if trial.value_by(value_of) is not None]
    best = sorted(
        (trial for trial in sound if trial.number in values),
        key=lambda trial: (values[trial.number], trial.number),
    )
    chosen = {trial.number: trial for trial in best[:overall]}
    by_problem: dict[Problem, list[tuple[float, Trial]]] = {}
    for trial in sound:
        for measurement in trial.measurements:
            value = value_of(measurement)
            if value is not None:
                by_problem.setdefault(measurement.problem, []).append((value, trial))
    for entries in by_problem.values():
        entries.sort(key=lambda entry: (entry[0], entry[1].number))
        chosen |= {trial.number: trial for _, trial in entries[:per_size]}
    return tuple(chosen[number] for number in sorted(chosen))


def values_over_all_sizes(
    trials: Sequence[Trial], value_of: ValueOf = lambda measurement: measurement.median
) -> dict[int, float]:
    """Return, by number, an estimate of each trial's value on all sizes.

    Not every config is timed on every size. On the others it is assumed to be as much slower than
    the trials that were timed on all sizes as it is on the timed sizes. If it is faster there, it
    keeps only the share of this that the timed sizes are of all: a search times a config where it
    may win, so the others would flatter it. Without a trial on all sizes there is no estimate, and
    a failed trial has no value.
    """
    logs: dict[int, dict[Problem, float]] = {}
    for trial in trials:
        if trial.value_by(value_of) is not None:
            known = ((m.problem, value_of(m)) for m in trial.measurements)
            logs[trial.number] = {p: math.log(value) for p, value in known if value is not None}
    sizes = {problem for row in logs.values() for problem in row}
    whole = [row for row in logs.values() if len(row) == len(sizes)]
    if not whole:
        return {}
    typical = {problem: math.fsum(row[problem] for row in whole) / len(whole) for problem in sizes}
    level = math.fsum(typical.values()) / len(sizes)
    values = {}
    for number, row in logs.items():
        share = len(row) / len(sizes)
        offset = math.fsum(value - typical[p] for p, value in row.items()) / len(row)
        others = offset if offset > 0 else offset * share
        values[number] = level + share * offset + (1 - share) * others
    return values


def best_by_problem(measurements: Iterable[Measurement]) -> dict[Problem, Measurement]:
    """Return the fastest measurement of every problem, final ones before others.

    A time from the final rounds replaces any from the search, where a sample may be fast by
    chance.
    """
    best: dict[Problem, Measurement] = {}
    for measurement in measurements:
        if measurement.median is None:
            continue
        incumbent = best.get(measurement.problem)
        if incumbent is None or _rank(measurement) < _rank(incumbent):
            best[measurement.problem] = measurement
    return best


def _rank(measurement: Measurement) -> tuple[bool, float, int]:
    median = measurement.median
    return (
        measurement.phase != Phase.FINAL,
        math.inf if median is None else median,
        measurement.trial,
    )
