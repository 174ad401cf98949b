"""Single kernels and the gain, for a report: from records, without a device."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Sequence

from mltune.errors import MltuneError
from mltune.measurement import Measurement, Phase
from mltune.problem import Problem
from mltune.report.content import Gain, KernelSource
from mltune.run.run_info import RunInfo
from mltune.space import Config
from mltune.space.load import parse_space
from mltune.tuning.families import family_named
from mltune.workflow.gain import default_seconds

MOST_SOURCES = 64
"""Kernels whose source is on the page: those that are best on the most sizes."""


def gain(info: RunInfo, rows: Sequence[Measurement], best: Sequence[Measurement]) -> Gain | None:
    """Compare the best kernel of each size with the default, else with the median config tried.

    Args:
        info: of the run.
        rows: of the run.
        best: the chosen measurement of each size.
    """
    before = default_seconds(rows, _defaults(info))
    words = "times as fast as the default kernel"
    if not before:
        before, words = _median_seconds(rows), "times as fast as the median kernel tried"
    ratios = [
        before[row.problem] / row.median
        for row in best
        if row.median is not None and row.problem in before
    ]
    return Gain(statistics.geometric_mean(ratios), words, len(ratios)) if ratios else None


def sources(
    info: RunInfo, best: Sequence[Measurement], also: Sequence[str] = ()
) -> tuple[KernelSource, ...]:
    """Generate the sources of the kernels that are best on some size.

    Args:
        info: of the run.
        best: the fastest measurement of each size.
        also: names of kernels that come first.
    """
    rows = {row.kernel: row for row in reversed(best)}
    count = {name: sum(row.kernel == name for row in best) for name in rows}
    order = sorted(rows, key=lambda name: (name not in also, -count[name]))
    found = []
    for name in order[:MOST_SOURCES]:
        row = rows[name]
        try:
            family = family_named(row.family, "report", info.kernels)
            kernel = family.generate(row.problem.contraction, row.config)
        except MltuneError:
            continue  # a config of another version; the page shows its parameters only
        found.append(KernelSource(name, kernel.source, kernel.source_hash == row.source_hash))
    return tuple(found)


def _defaults(info: RunInfo) -> list[Config]:
    defaults = []
    for each in info.searched_spaces:
        try:
            space = parse_space(each.text, each.name)
        except MltuneError:
            continue  # a source of another version, or a hand-written kernel without one
        if space.default:
            defaults.append(Config.of(dict(space.default)))
    return defaults


def _median_seconds(rows: Sequence[Measurement]) -> dict[Problem, float]:
    times: dict[Problem, list[float]] = defaultdict(list)
    for row in rows:
        if row.phase == Phase.SEARCH and row.median is not None:
            times[row.problem].append(row.median)
    return {problem: statistics.median(each) for problem, each in times.items() if len(each) > 1}
