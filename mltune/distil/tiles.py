"""AutoGEMM's kernel selection data: thresholds of M*N, exact tiles in order, a fallback tile.

Each threshold has a list of tiles, the fastest first, for sizes that they divide without an edge,
and a fallback tile for all other sizes. AutoGEMM gets the list from a profiler; here it is made
from the time table.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from mltune.distil.fit import Fitted, Settings
from mltune.distil.portfolio import cover
from mltune.distil.table import TimeTable
from mltune.selector import Leaf, PortfolioKernel, Split, Tree, feature_value, features
from mltune.selector.rest import Tile, rest_name

TILE_WORTH = 0.02
"""A further entry has to save 2 % on one size."""

MOST_TILES = 4
MOST_THRESHOLDS = 16


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the selection data.

    Attributes:
        least_mn: the smallest M*N that it is for.
        fallback: the kernel's number in the portfolio.
        exact: kernels that are tried before the fallback, in order.
        cost: its summed loss on the sizes it was made from, plus `TILE_WORTH` for each entry.
    """

    least_mn: int
    fallback: int
    exact: tuple[int, ...]
    cost: float


def fit_tiles(table: TimeTable, settings: Settings) -> Fitted:
    """Make the selection data, as a tree that the exporters write."""
    portfolio = cover(table, tolerance=0.0, max_kernels=settings.max_kernels)
    kernels = [table.kernels[column] for column in portfolio]
    tiles = [_tile(kernel, swapped=settings.swapped) for kernel in kernels]
    return Fitted(portfolio, _tree(selection_data(table, portfolio, tiles), tiles))


def selection_data(
    table: TimeTable, portfolio: Sequence[int], tiles: Sequence[Tile | None]
) -> tuple[Line, ...]:
    """Return the lines, the largest sizes first; the last one is for every size."""
    costs = table.log_ratios[:, list(portfolio)] * table.size_weights[:, None]
    fits = np.array([_fits(tiles, size) for size in table.sizes])
    mn = [features(*size)["mn"] for size in table.sizes]
    order = np.argsort(mn, kind="stable")
    bins: list[list[int]] = []
    lines: list[Line] = []
    for row in order.tolist():
        here = _line(mn[row], [row], costs, fits)
        if bins:
            both = [*bins[-1], row]
            shared = _line(lines[-1].least_mn, both, costs, fits)
            too_many = len(lines) == MOST_THRESHOLDS or mn[row] == mn[bins[-1][-1]]
            if too_many or shared.cost <= lines[-1].cost + here.cost:
                bins[-1], lines[-1] = both, shared
                continue
        bins.append([row])
        lines.append(here)
    starts = [
        0,
        *(math.isqrt(mn[a[-1]] * mn[b[0]]) + 1 for a, b in pairwise(bins)),
    ]
    return tuple(
        Line(start, line.fallback, line.exact, line.cost)
        for start, line in zip(reversed(starts), reversed(lines), strict=True)
    )


def _line(
    least_mn: int,
    rows: Sequence[int],
    costs: NDArray[np.float64],
    fits: NDArray[np.bool_],
) -> Line:
    """Make a line: the best fallback, and the tiles that save time where they fit."""
    here, fit = costs[rows], fits[rows]
    fallback = int(here.sum(axis=0).argmin())
    means = [
        (float(here[fit[:, tile], tile].mean()), tile)
        for tile in range(here.shape[1])
        if tile != fallback and fit[:, tile].any()
    ]
    now = here[:, fallback].copy()
    open_rows = np.ones(len(rows), dtype=bool)
    exact: list[int] = []
    for _, tile in sorted(means):
        taken = open_rows & fit[:, tile]
        saved = float((now[taken] - here[taken, tile]).sum())
        if saved > TILE_WORTH and len(exact) < MOST_TILES:
            now[taken] = here[taken, tile]
            open_rows &= ~taken
            exact.append(tile)
    return Line(least_mn, fallback, tuple(exact), float(now.sum()) + TILE_WORTH * (1 + len(exact)))


def _tree(lines: Sequence[Line], tiles: Sequence[Tile | None]) -> Tree:
    """Return the splits in AutoGEMM's order."""
    tree: Tree | None = None
    for line in reversed(lines):
        chosen: Tree = Leaf(line.fallback)
        for kernel in reversed(line.exact):
            tile = tiles[kernel]
            assert tile is not None  # a kernel without a tile fits no size
            chosen = Split(rest_name(tile), 0, Leaf(kernel), chosen)
        tree = chosen if tree is None else Split("mn", line.least_mn - 1, tree, chosen)
    assert tree is not None  # there is at least one size, so one line
    return tree


def _fits(tiles: Sequence[Tile | None], size: tuple[int, ...]) -> list[bool]:
    values = features(*size)
    return [tile is not None and not feature_value(values, rest_name(tile)) for tile in tiles]


def _tile(kernel: PortfolioKernel, *, swapped: bool) -> Tile | None:
    """Return rows, columns and terms of a step; None for a config without these parameters."""
    names = ("work_group_0", "thread_tile_0", "work_group_1", "thread_tile_1", "depth_u")
    numbers = [kernel.config.get(name) for name in names]
    whole = [number for number in numbers if isinstance(number, int)]
    if len(whole) < len(names):
        return None
    d0, d1 = whole[0] * whole[1], whole[2] * whole[3]
    return (d1, d0, whole[4]) if swapped else (d0, d1, whole[4])
