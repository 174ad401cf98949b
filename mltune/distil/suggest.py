"""Which sizes to measure next: those with the largest expected improvement by another kernel."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mltune.distil.drawn_sizes import drawn_sizes
from mltune.distil.table import Size, TimeTable
from mltune.distil.teacher import Teacher

Array = NDArray[np.float64]

CANDIDATES = 20_000
"""Number of sizes drawn, of which the best are taken."""

APART = 1.0
"""The least distance of two suggested sizes: doublings, summed over all extents."""

MOST_TIMES_LONGER = 10.0
"""A size is not suggested if it is expected to take more than this many times the longest measured
time. Otherwise, after a run on tiny sizes, measuring the suggestions could take hours.
"""

_MOST_DOUBT = 10.0
"""Stands for an unknown (infinite) doubt."""


def suggested(teacher: Teacher, table: TimeTable, count: int, seed: int) -> tuple[Size, ...]:
    """Return the sizes whose measurement would help most, the best first.

    A size's score is the expected improvement, in logs, of the kernel that may beat the chosen one
    by most (Jones, Schonlau and Welch, 1998).

    Args:
        teacher: predicts times and their standard deviations.
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
    likely = teacher.likely(sizes)
    gaps = likely - likely[rows, best][:, None]
    spread = np.maximum(np.hypot(doubt, doubt[rows, best][:, None]), 1e-12)
    away = gaps / spread
    gains = spread * norm.pdf(away) - gaps * norm.sf(away)
    gains[rows, best] = 0.0
    return np.asarray(gains.max(axis=1))
