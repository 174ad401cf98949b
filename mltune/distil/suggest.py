"""Which sizes to measure next: those where a teacher may well be wrong, and that costs much."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mltune.distil.drawn_sizes import drawn_sizes
from mltune.distil.table import Size, TimeTable
from mltune.distil.teacher import Teacher

Array = NDArray[np.float64]

CANDIDATES = 20_000
"""Sizes that are drawn, of which the best are taken."""

APART = 1.0
"""Doublings, all extents together, that two suggested sizes differ by at least."""

MOST_TIMES_LONGER = 10.0
"""A size is not suggested that is expected to take so many times as long as the longest measured:
after a run on tiny sizes, those from anywhere would take hours."""

_MOST_DOUBT = 10.0
"""In place of a doubt that nothing tells."""


def suggested(teacher: Teacher, table: TimeTable, count: int, seed: int) -> tuple[Size, ...]:
    """Name the sizes whose measurement would help most, the best first.

    A size counts by what is expected to be saved by knowing its times: the expected improvement of
    the kernel that may beat the chosen one by most (Jones, Schonlau and Welch, 1998), in logs.

    Args:
        teacher: knows what it expects, and its doubt.
        table: that it learned from; its sizes are not suggested.
        count: how many.
        seed: of the sizes that are drawn to choose from.
    """
    drawn = drawn_sizes(CANDIDATES, table, seed)
    logs = teacher.log_seconds(drawn)
    longest = np.nanmax(np.nanmin(table.seconds, axis=1))
    is_short = logs.min(axis=1) <= np.log(MOST_TIMES_LONGER * longest)
    drawn, logs = drawn[is_short], logs[is_short]
    worth = _expected_improvement(teacher, drawn, logs)
    places = np.log2(drawn)
    taken = list(np.log2(np.array(table.sizes, dtype=np.float64)))
    found: list[Size] = []
    for row in np.argsort(-worth, kind="stable"):
        if len(found) == count:
            break
        if np.abs(np.array(taken) - places[row]).sum(axis=1).min() >= APART:
            taken.append(places[row])
            found.append(Size(*map(int, drawn[row])))
    return tuple(found)


def _expected_improvement(teacher: Teacher, sizes: Array, logs: Array) -> Array:
    from scipy.stats import norm  # takes long to load

    doubt = np.minimum(teacher.doubt(sizes), _MOST_DOUBT)
    rows = np.arange(len(sizes))
    best = logs.argmin(axis=1)
    gaps = logs - logs[rows, best][:, None]
    spread = np.maximum(np.hypot(doubt, doubt[rows, best][:, None]), 1e-12)
    away = gaps / spread
    gains = spread * norm.pdf(away) - gaps * norm.sf(away)
    gains[rows, best] = 0.0
    return np.asarray(gains.max(axis=1))
