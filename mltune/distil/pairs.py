"""Leaves with two kernels: which pair, and how much faster one must be expected to be.

A leaf's best kernel for all its sizes is often not the best for each. Where the teacher's formulas
tell, the leaf takes two kernels and compares their expected times for each size. That replaces the
questions for which a tree has no leaves left: with 700 leaves trees lost 0.32 % to their teachers
on sizes from everywhere, with pairs in nine of ten leaves 0.16 % (hgemm on an H200, split 100).
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from mltune.selector.rival import PARTS, Rival
from mltune.selector.selector import Leaf

Array = NDArray[np.float64]
Logs = NDArray[np.float32]
Numbers = NDArray[np.intp]

CANDIDATES = 6
"""The kernels of a leaf of which pairs are tried: those that save most, each alone."""

LEAST_SIZES = 6
"""A leaf with fewer sizes has one kernel."""


def shares(first: Logs, second: Logs) -> Numbers:
    """Return `mltune.selector.rival.share` from the logs of two kernels' times, by size."""
    return np.asarray(PARTS / (1 + np.exp(second - first)), dtype=np.intp)


def best_pair(costs: Array, logs: Logs, rows: Numbers) -> Leaf | None:
    """Return the leaf of two kernels with the least cost, if that is less than that of one.

    Args:
        costs: of each kernel on the leaf's sizes, a row each.
        logs: of the times that formulas expect, of more sizes.
        rows: of the leaf's sizes in `logs`.
    """
    if len(costs) < LEAST_SIZES:
        return None
    totals = costs.sum(axis=0)
    found, least = None, float(totals.min()) - 1e-9
    candidates = _candidates(costs, int(totals.argmin()))
    # The numbers of one kernel side by side, as they are read for each of its pairs.
    told = np.ascontiguousarray(logs[rows[:, None], candidates].T)
    lost = np.ascontiguousarray(costs[:, candidates].T)
    for one, other in combinations(range(len(candidates)), 2):
        first, second = candidates[one], candidates[other]
        asked = shares(told[one], told[other])
        lowest = int(asked.min())
        more = np.bincount(asked - lowest, lost[one] - lost[other]).cumsum()
        best = int(more.argmin())
        cost = float(totals[second] + more[best])
        if cost < least:
            found, least = Leaf(first, rival=Rival(second, lowest + best)), cost
    return found


def chosen(leaf: Leaf, logs: Logs | None, rows: Numbers) -> Numbers:
    """Return the kernel that a leaf chooses for each of some sizes."""
    if leaf.rival is None or logs is None:
        return np.full(len(rows), leaf.kernel)
    asked = shares(logs[rows, leaf.kernel], logs[rows, leaf.rival.kernel])
    return np.where(asked <= leaf.rival.threshold, leaf.kernel, leaf.rival.kernel)


def _candidates(costs: Array, best: int) -> list[int]:
    saves = costs[:, [best]] - costs
    saved = np.maximum(saves, 0, out=saves).sum(axis=0)
    order = np.argsort(-saved, kind="stable")[: CANDIDATES - 1]
    return sorted({best, *order[saved[order] > 0].tolist()})
