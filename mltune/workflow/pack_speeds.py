"""The times that a pack states, of three sizes, from its runs."""

from __future__ import annotations

from mltune.distil import TimeTable
from mltune.problem import problem_of_size
from mltune.selector import Selector
from mltune.selector.speeds import Speed

_COUNT = 3
_LEAST_SECONDS, _MOST_SECONDS = 50e-6, 0.1
"""Shorter times are too noisy, and longer ones would delay the check."""
_MOST_BYTES = 2**28


def stated_speeds(selector: Selector, table: TimeTable) -> tuple[Speed, ...]:
    """Choose a short, a middle and a long time of exact sizes by their chosen kernels.

    Args:
        selector: of the pack.
        table: the times that it was distilled from.
    """
    columns = {kernel.name: column for column, kernel in enumerate(table.kernels)}
    rows = {tuple(size): row for row, size in enumerate(table.sizes)}
    times = []
    for size, number in selector.exact:
        row, column = rows.get(size), columns.get(selector.portfolio[number].name)
        if row is None or column is None:
            continue
        seconds = float(table.seconds[row, column])
        batched = bool(selector.contraction.batch_indices)
        problem = problem_of_size(selector.contraction, size if batched else size[:3])
        if seconds > 0 and problem.bytes <= _MOST_BYTES:  # false for nan
            times.append(Speed(size, seconds))
    times.sort(key=lambda each: (each.seconds, each.size))
    usual = [each for each in times if _LEAST_SECONDS <= each.seconds <= _MOST_SECONDS]
    times = usual if len(usual) >= _COUNT else times
    chosen = {0, len(times) // 2, len(times) - 1} if times else set()
    return tuple(times[place] for place in sorted(chosen))
