"""Distilling: from a time table to a selector that states its own loss."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from mltune.distil.fit import Settings
from mltune.distil.methods import AUTO, METHODS
from mltune.distil.regret import RegretRow, regret_table
from mltune.distil.table import TimeTable
from mltune.distil.vectors import whole_vectors
from mltune.errors import UsageError
from mltune.problem import Contraction
from mltune.selector import MAX_DEPTH, Selector


@dataclass(frozen=True, slots=True)
class Distilled:
    """A selector, and the table that compares it with simpler rules on held-out sizes."""

    selector: Selector
    rows: tuple[RegretRow, ...]


def distil(
    table: TimeTable,
    contraction: Contraction,
    *,
    method: str = AUTO,
    tolerance: float = 0.02,
    max_kernels: int = 16,
    max_depth: int = 8,
    held_out: float = 0.25,
    seed: int = 0,
    compute_units: int = 1,
    conditions: Sequence[tuple[str, str]] = (),
    on_step: Callable[[int, int], None] = lambda done, total: None,
) -> Distilled:
    """Choose a portfolio, fit a rule to all sizes, and measure what such a rule loses.

    The loss is measured with rules and portfolios that never saw the sizes they are judged on:
    the sizes are split into 1 / `held_out` parts, and each part is judged by a fit on the others.

    Args:
        table: seconds of every kernel on every size.
        contraction: the problem type that the table is about.
        method: how sizes are told apart: one of `METHODS`.
        tolerance: a kernel within 1 + tolerance of a size's best is as good as the best.
        max_kernels: the most kernels that ship.
        max_depth: the most questions on a path of the tree.
        held_out: the share of the sizes that each judging fit does not see.
        seed: of the split into parts.
        compute_units: of the device that was measured.
        conditions: how the table was measured, for people.
        on_step: is told how many sizes are judged, and how many will be.

    Raises:
        UsageError: when a setting is out of range.
    """
    for name, value, low, high in (
        ("tolerance", tolerance, 0.0, 10.0),
        ("max_kernels", max_kernels, 1, 10_000),
        ("max_depth", max_depth, 0, MAX_DEPTH),
        ("held_out", held_out, 0.01, 0.5),
    ):
        if not low <= value <= high:
            raise UsageError(f"distil: {name} must be from {low} to {high}, got {value}")
    if method not in METHODS:
        raise UsageError(f"distil: unknown method '{method}' (known: {', '.join(METHODS)})")
    settings = Settings(
        tolerance=tolerance,
        max_kernels=max_kernels,
        max_depth=max_depth,
        seed=seed,
        compute_units=compute_units,
        swapped=contraction.swaps_operands,
        multiples=whole_vectors(contraction),
    )
    rows = regret_table(table, held_out=held_out, settings=settings, on_step=on_step)
    fitted = METHODS[method](table, settings)
    times = table.seconds[:, list(fitted.portfolio)]
    exact = tuple(
        ((size.m, size.n, size.k, size.batch), int(np.nanargmin(seconds)))
        for size, seconds in zip(table.sizes, times, strict=True)
        if np.isfinite(seconds).any()
    )
    selector = Selector(
        contraction=contraction,
        portfolio=tuple(table.kernels[column] for column in fitted.portfolio),
        tree=fitted.tree,
        formulas=fitted.formulas,
        exact=exact,
        regret=next((row.regret for row in rows if row.rule == method), None),
        conditions=(*conditions, *((("method", method),) if method != AUTO else ())),
    )
    return Distilled(selector, rows)
