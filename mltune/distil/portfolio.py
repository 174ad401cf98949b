"""The portfolio: few kernels, one of which is nearly the fastest on each size."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mltune.distil.table import TimeTable


def cover(
    table: TimeTable, *, tolerance: float, max_kernels: int, given: Sequence[int] = ()
) -> tuple[int, ...]:
    """Choose the kernels that ship, by their columns in the table; the first is the fallback.

    A kernel within 1 + `tolerance` of a size's best time covers the size without loss; beyond that
    the loss is the log of the excess. The fallback is right on every size (or on most, if no
    kernel is), and has the least summed loss when alone. Then the kernel that lowers the sum most
    is added, until every size is covered. At the end, kernels that later ones made superfluous are
    dropped.

    Args:
        table: seconds of every kernel on every size.
        tolerance: how much slower than the best counts as the best.
        max_kernels: the most kernels, given ones included.
        given: kernels that ship in any case, in place of the fallback.
    """
    weights = table.size_weights[:, None]
    ratios = table.log_ratios * weights
    losses = np.maximum(ratios - np.log1p(tolerance) * weights, 0.0)

    chosen = list(given)
    if not chosen:
        solved = np.isfinite(table.known).sum(axis=0)
        fallbacks = np.flatnonzero(solved == solved.max())
        chosen = [int(fallbacks[_least(losses[:, fallbacks], ratios[:, fallbacks])])]
    fixed = len(chosen)
    while (
        len(chosen) < max_kernels and (now := losses[:, chosen].min(axis=1, keepdims=True)).any()
    ):
        ratios_now = ratios[:, chosen].min(axis=1, keepdims=True)
        chosen.append(_least(np.minimum(losses, now), np.minimum(ratios, ratios_now)))
    for kernel in chosen[: fixed - 1 : -1]:
        rest = [other for other in chosen if other != kernel]
        if np.array_equal(losses[:, rest].min(axis=1), losses[:, chosen].min(axis=1)):
            chosen = rest
    return tuple(chosen)


def _least(losses: NDArray[np.float64], ratios: NDArray[np.float64]) -> int:
    """The column with the least summed loss; among equals, the one that is faster on the whole."""
    return int(np.lexsort((ratios.sum(axis=0), losses.sum(axis=0).round(9)))[0])
