"""Random sizes for a tree to learn from: many near measured ones, the others from everywhere."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mltune.distil.table import TimeTable

Array = NDArray[np.float64]
Seed = int | tuple[int, ...]

MOST = (30_000, 30_000, 60_000)
"""The largest m, n and k."""

MOST_WORK = 4e12
"""The largest m * n * k * batch; a fast GPU takes a second for it."""

NEAR_MEASURED = 0.8
"""The share of the sizes that are drawn near measured ones.

With a quarter, a fold of sgemm NT (split 100) lost 0.9 % more on held-out sizes, and was no better
on sizes from everywhere.
"""

_KEPT = 0.3
"""The probability that an extent near a measured size is that size's own, as programs use the
layers of a network with any number of tokens.

Trees of half (an H200, splits 101 to 103) lose 0.13 % to their teachers on held-out sizes, and
0.14 % on sizes from everywhere. With 0.6 near measured sizes, no such extents and one multiple for
all extents of a size they lost 0.21 and 0.11 %.
"""

_SPREAD = 0.5
"""The standard deviation of the log of an extent around a measured size's."""

_MULTIPLES = (1, 1, 1, 8, 16, 64)
"""Half of the other extents are multiples of 8, 16 or 64, as in real programs."""

_ALIKE = 0.5
"""The share of the sizes whose extents are all multiples of the same number."""


def drawn_sizes(count: int, table: TimeTable, seed: Seed, near: float = NEAR_MEASURED) -> Array:
    """Draw sizes.

    Args:
        count: how many.
        table: with the measured sizes.
        seed: of the random numbers.
        near: the share that lies near measured sizes; the others are log-uniform.

    Returns:
        m, n, k and batch as whole numbers, a row for each size.
    """
    chance = np.random.default_rng(seed)
    measured = np.array(table.sizes, dtype=np.float64)
    most = np.array([*MOST, max(1.0, 2 * measured[:, 3].max())])
    if measured[:, 3].max() == 1:
        most[3] = 1.0
    parts: list[Array] = []
    missing = count
    while missing > 0:
        drawn = np.exp(chance.random((2 * missing, 4)) * np.log(most + 1.0))
        is_near = chance.random(len(drawn)) < near
        chosen = chance.integers(len(measured), size=len(drawn))
        moved = measured[chosen] * np.exp(_SPREAD * chance.standard_normal(drawn.shape))
        drawn = np.floor(np.where(is_near[:, None], moved, drawn))
        multiple = chance.choice(_MULTIPLES, size=(len(drawn), 3))
        multiple = np.where(chance.random((len(drawn), 1)) < _ALIKE, multiple[:, :1], multiple)
        drawn[:, :3] = np.rint(drawn[:, :3] / multiple) * multiple
        is_kept = is_near[:, None] & (chance.random(drawn.shape) < _KEPT)
        drawn = np.where(is_kept, measured[chosen], drawn)
        drawn = np.clip(drawn, 1.0, np.maximum(most, measured.max(axis=0)))
        parts.append(drawn[drawn.prod(axis=1) <= max(MOST_WORK, measured.prod(axis=1).max())])
        missing -= len(parts[-1])
    return np.concatenate(parts)[:count]
