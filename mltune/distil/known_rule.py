"""A rule that was known before, such as a pack's: it stays unless a fitted one is better.

A short search times few kernels on few sizes, so that a rule fitted to it may lose to a rule from
a long one. Five runs of an H100 were cut to 4 to 24 trials, beside a rule from half of their
sizes. On a quarter that neither had seen, the result has 0.945 of the best known speed, the
search's own rule 0.826 (split 1, which chose the settings; split 2: 0.943 and 0.835). With
60 trials or all it has 0.945 and 0.945, the own rule 0.950 and 0.947, the known one 0.945 and
0.943.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mltune.distil.distil import Distilled
from mltune.distil.exact import LeftOut
from mltune.distil.fit import Settings
from mltune.distil.portfolio import cover
from mltune.distil.regret import RegretRow, row_of
from mltune.distil.table import Size, TimeTable
from mltune.selector import PortfolioKernel, Selector, leaves
from mltune.selector.restricted import without

KNOWN = "known"
"""The name of the rule in the table of losses."""

LEAST_TIMED = 0.9
"""A known rule cannot be judged if the times of its kernels are known on fewer than this share of
the sizes. Then it stays: it has seen kernels that the search has not.
"""

LEAST_SIZES = 8
"""Nor on fewer sizes than this."""


def kept(
    distilled: Distilled,
    known: Selector,
    table: TimeTable,
    every: TimeTable,
    judged: TimeTable,
) -> Distilled:
    """Return the known selector with the map of the search, unless the fitted rule is better.

    The fitted rule is judged on held-out sizes, the known one without its map.

    Args:
        distilled: from the search.
        known: of the same problem type.
        table: that the rule was fitted to.
        every: all times, for the map.
        judged: the table with all kernels of `known` that the search tried, and predicted times.
    """
    losses = _losses(known, table, judged)
    fitted = next((row for row in distilled.rows if row.rule == distilled.rule), None)
    row = _row(losses, table)
    if row is not None and fitted is not None and _is_beaten(losses, fitted):
        return replace(distilled, rows=(*distilled.rows, row))
    selector, left_out = _with_map(known, every, judged, distilled.settings)
    rows = distilled.rows if row is None else (*distilled.rows, row)
    return Distilled(selector, KNOWN, rows, distilled.settings, left_out)


def _losses(known: Selector, table: TimeTable, judged: TimeTable) -> NDArray[np.float64]:
    """Return log(time of the rule's kernel / best time) for each size; nan where unknown."""
    rule, times = known.rule, _times(judged)
    chosen = [known.portfolio[rule.choose(*size)[0]].name for size in table.sizes]
    seconds = [times[size, name] for size, name in zip(table.sizes, chosen, strict=True)]
    return np.maximum(np.log(np.array(seconds) / table.best), 0.0)


def _times(table: TimeTable) -> dict[tuple[Size, str], float]:
    """Return the known times, by size and kernel; nan for others."""
    found: dict[tuple[Size, str], float] = defaultdict(lambda: math.nan)
    for size, seconds in zip(table.sizes, table.known.tolist(), strict=True):
        for kernel, each in zip(table.kernels, seconds, strict=True):
            found[size, kernel.name] = each
    return found


def _is_beaten(losses: NDArray[np.float64], fitted: RegretRow) -> bool:
    """Whether enough is known, and the fitted rule loses less by more than the standard error."""
    timed = np.isfinite(losses)
    if timed.sum() < max(LEAST_SIZES, LEAST_TIMED * len(timed)):
        return False
    gains = (losses - np.array(fitted.losses))[timed]
    return float(gains.mean()) > float(gains.std() / math.sqrt(len(gains)))


def _row(losses: NDArray[np.float64], table: TimeTable) -> RegretRow | None:
    """Return the score on the sizes where it is known; None if there are none."""
    timed = np.flatnonzero(np.isfinite(losses)).tolist()
    return row_of(KNOWN, losses[timed], table.take(timed)) if timed else None


def _with_map(
    known: Selector, every: TimeTable, judged: TimeTable, settings: Settings
) -> tuple[Selector, tuple[LeftOut, ...]]:
    """Give each size its fastest kernel, where the time of the known choice is known, too."""
    times = _times(judged)
    choices = {size: known.choose(*size) for size in every.sizes}
    spent = {size: times[size, choice.kernel.name] for size, choice in choices.items()}
    rows = [row for row, size in enumerate(every.sizes) if math.isfinite(spent[size])]
    left_out = tuple(
        LeftOut(size, "the kernel that was known for it was not timed")
        for size in every.sizes
        if not math.isfinite(spent[size])
    )
    fastest: dict[tuple[int, int, int, int], PortfolioKernel] = {
        size: known.portfolio[number] for size, number in known.exact
    }
    if rows:
        names = {kernel.name for kernel in known.portfolio}
        given = tuple(i for i, kernel in enumerate(every.kernels) if kernel.name in names)
        columns = cover(
            every.take(rows),
            tolerance=settings.tolerance,
            max_kernels=max(settings.max_kernels, len(known.portfolio)),
            given=given,
        )
    for row in rows:
        size, seconds = every.sizes[row], every.seconds[row, list(columns)]
        mine = choices[size].kernel
        if np.isfinite(seconds).any() and np.nanmin(seconds) < spent[size]:
            mine = every.kernels[columns[int(np.nanargmin(seconds))]]
        fastest[size] = mine
    return _extended(known, fastest), left_out


def _extended(
    known: Selector, fastest: dict[tuple[int, int, int, int], PortfolioKernel]
) -> Selector:
    """Return the selector with another map, without kernels that serve no size any more."""
    mapped = {kernel.name for kernel in fastest.values()}
    by_rule = {*range(max(len(known.formulas), len(known.teacher))), *leaves(known.tree)}
    unused = [
        number
        for number, kernel in enumerate(known.portfolio)
        if number not in by_rule and kernel.name not in mapped
    ]
    rest, _ = without(known, unused)
    kernels = {kernel.name: kernel for kernel in rest.portfolio}
    for kernel in fastest.values():
        kernels.setdefault(kernel.name, kernel)
    numbers = {name: number for number, name in enumerate(kernels)}
    return replace(
        rest,
        portfolio=tuple(kernels.values()),
        exact=tuple(((*size,), numbers[fastest[size].name]) for size in sorted(fastest)),
    )
