"""Which config is the fastest for each size, from the leaders' interleaved measurements.

The samples of all rounds of a config on a size are pooled. Rounds that took clearly longer than
the config's fastest round are left out, because something else disturbed them. The config's time
is the median of the samples, with a 95 % confidence interval. A config ties with the fastest one
if their intervals overlap. Among ties whose medians are within 1 % of the fastest, the config that
is fastest over all sizes is chosen; among equals, the one that was tried first.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from mltune.measurement import Measurement, Phase
from mltune.problem import Problem
from mltune.runner.timing import median_interval
from mltune.space import Config
from mltune.tuning.drift import BLURRED
from mltune.tuning.trial import best_by_problem

MUCH_SLOWER = 1.25
"""Of two times of a config, one that is so many times as long shows a disturbance."""

CLOSE = 0.01
"""Ties whose medians differ by less than this share are equal."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The result for one size.

    Attributes:
        best: the chosen config's measurement, with the samples of all its rounds.
        equals: the configs that tie with the fastest, the chosen one first.
    """

    best: Measurement
    equals: tuple[Measurement, ...]


def choose(measurements: Iterable[Measurement]) -> dict[Problem, Choice]:
    """Choose for every size that a config was right on.

    A size without re-measured leaders, as when a run was cut short, gets its fastest
    measurement of the search. So does a size on which that config was not measured again, and was
    far faster than those that were.
    """
    rows = list(measurements)
    pooled = pooled_rounds(rows)
    overall = _overall(pooled)
    chosen = {
        problem: Choice(best, (best,))
        for problem, best in best_by_problem(r for r in rows if r.phase == Phase.SEARCH).items()
    }
    again = {(row.problem, row.config) for row in rows if row.phase == Phase.FINAL}
    for problem, candidates in pooled.items():
        choice, searched = _choice(list(candidates.values()), overall), chosen.get(problem)
        if (
            searched is None
            or (problem, searched.best.config) in again
            or _median(choice.best) < MUCH_SLOWER * _median(searched.best)
        ):
            chosen[problem] = choice
    return chosen


def _choice(candidates: list[Measurement], overall: Mapping[Config, float]) -> Choice:
    fastest = min(candidates, key=_median)
    reach = median_interval(fastest.seconds)[1]
    equals = [one for one in candidates if median_interval(one.seconds)[0] <= reach]
    close = [one for one in equals if _median(one) <= (1 + CLOSE) * _median(fastest)]
    best = min(close, key=lambda one: (overall[one.config], one.trial))
    rest = sorted((one for one in equals if one is not best), key=_median)
    return Choice(best, (best, *rest))


def pooled_rounds(rows: Iterable[Measurement]) -> dict[Problem, dict[Config, Measurement]]:
    """Pool the final rounds of each config on each size; a failed one disqualifies the config."""
    cells: dict[tuple[Problem, Config], list[Measurement]] = defaultdict(list)
    for row in rows:
        if row.phase == Phase.FINAL:
            cells[row.problem, row.config].append(row)
    pooled: dict[Problem, dict[Config, Measurement]] = defaultdict(dict)
    for (problem, config), rounds in cells.items():
        if all(one.seconds for one in rounds):
            limit = (1 + BLURRED) * min(map(_median, rounds))
            alike = [one for one in rounds if _median(one) <= limit]
            samples = tuple(second for one in alike for second in one.seconds)
            pooled[problem][config] = replace(rounds[0], seconds=samples)
    return pooled


def _overall(pooled: Mapping[Problem, Mapping[Config, Measurement]]) -> dict[Config, float]:
    """Return each config's mean log distance from the fastest, over its timed sizes."""
    logs: dict[Config, list[float]] = defaultdict(list)
    for candidates in pooled.values():
        fastest = min(map(_median, candidates.values()))
        for config, one in candidates.items():
            logs[config].append(math.log(_median(one) / fastest))
    return {config: math.fsum(values) / len(values) for config, values in logs.items()}


def _median(measurement: Measurement) -> float:
    return statistics.median(measurement.seconds)
