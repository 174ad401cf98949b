"""Distilling: from a time table to a selector that states its own loss."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice
from typing import cast

from mltune.distil.best import MOST_LOST, best_rule
from mltune.distil.exact import LeftOut, exact_map, reserved
from mltune.distil.fit import Fitted, Memory, Settings
from mltune.distil.leaf_losses import with_losses
from mltune.distil.methods import AUTO, METHODS, TAUGHT, fit_rule
from mltune.distil.regret import Fold, Losses, RegretRow, folds_of, regret_rows
from mltune.distil.table import TimeTable
from mltune.distil.taught import BYTES_EACH, Taught, taught
from mltune.errors import UsageError
from mltune.one_thread import one_thread
from mltune.problem import Contraction
from mltune.selector import MAX_DEPTH, MAX_KERNELS, Selector, Split
from mltune.side_by_side import side_by_side
from mltune.unknown import unknown


@dataclass(frozen=True, slots=True)
class Distilled:
    """A selector, and the table that compares it with simpler rules on held-out sizes.

    Attributes:
        rule: the name of the rule that ships, whose row has the loss that the selector states.
        rows: one per rule; `auto` is the rule that ships if no method is named.
        settings: how it was distilled.
        left_out: measured sizes that the map does not have, so that the rule chooses for them.
    """

    selector: Selector
    rule: str
    rows: tuple[RegretRow, ...]
    settings: Settings
    left_out: tuple[LeftOut, ...] = ()


@dataclass(frozen=True, slots=True)
class BestFit:
    """The rule that ships, fitted to all sizes.

    Attributes:
        rule: as of `Distilled`.
        rows: as of `Distilled`.
    """

    rule: str
    fitted: Fitted
    rows: tuple[RegretRow, ...]


def fit_best(
    table: TimeTable,
    settings: Settings,
    *,
    method: str,
    held_out: float,
    on_step: Callable[[int, int], None],
) -> BestFit:
    """Judge every rule on sizes that it was not fitted to, and fit the best one to all sizes.

    Args:
        table: as of `distil`.
        settings: of the fits.
        method: as of `distil`; a named one is fitted even if another is better.
        held_out: as of `distil`.
        on_step: as of `distil`.
    """
    parts = folds_of(table, held_out=held_out, settings=settings)
    fits = len(parts) + 1
    on_step(0, fits)
    import sklearn.tree  # noqa: F401  # once, before the processes are copied

    def compute(part: Fold | None) -> Losses | Taught:
        return taught(table, settings) if part is None else part.losses(settings)

    # The tree that may ship is fitted beside the others, and dropped if another rule is better.
    with closing(side_by_side(compute, (*parts, None), BYTES_EACH)) as results:
        judged: list[Losses] = []
        for found in islice(results, len(parts)):
            judged.append(cast(Losses, found))
            on_step(len(judged), fits)
        rows = regret_rows(table, parts, judged)
        by_rule = {row.rule: row for row in rows}
        best, student = _best(by_rule, method, lambda: cast(Taught, next(results)))
    on_step(fits, fits)
    rule = best if method == AUTO else method
    fitted = _fitted(rule, table, settings, student, by_rule[rule].losses if rows else ())
    return BestFit(rule, fitted, tuple(_with_auto(rows, best)))


@one_thread()
def distil(
    table: TimeTable,
    contraction: Contraction,
    *,
    every: TimeTable | None = None,
    is_joined: bool = False,
    method: str = AUTO,
    tolerance: float = 0.02,
    max_kernels: int = MAX_KERNELS,
    max_depth: int = 8,
    held_out: float = 0.25,
    seed: int = 0,
    compute_units: int = 1,
    memory: Memory | None = None,
    conditions: Sequence[tuple[str, str]] = (),
    on_step: Callable[[int, int], None] = lambda done, total: None,
    fit: Callable[..., BestFit] = fit_best,
) -> Distilled:
    """Choose a portfolio, fit a rule to all sizes, and measure what such a rule loses.

    The loss is measured with rules and portfolios that never saw the sizes they are judged on: the
    sizes are split into 1 / `held_out` parts, and each part is judged by a fit on the others.

    Args:
        table: seconds of every kernel on every size.
        contraction: the problem type that the table is about.
        every: these times and those of further sizes and kernels, for the map of exact sizes.
        is_joined: whether the times come from several runs, of which each may lack sizes.
        method: the kind of rule: one of `METHODS`, or `AUTO` for the best of them.
        tolerance: a kernel within 1 + tolerance of a size's best is as good as the best.
        max_kernels: the most kernels that ship.
        max_depth: the most splits on a path of the tree.
        held_out: the share of the sizes that each judging fit does not see.
        seed: of the split into parts.
        compute_units: of the device that was measured.
        memory: of that device; None if it is not known.
        conditions: how the table was measured, as text for the selector's card.
        on_step: called with the number of fits so far, and of all.
        fit: `fit_best`, or a function that remembers its results, as it takes nearly all the time.

    Raises:
        UsageError: when a setting is out of range.
    """
    _check(method, tolerance, max_kernels, max_depth, held_out)
    every = table if every is None else every
    settings = Settings.of(
        contraction,
        tolerance=tolerance,
        max_kernels=max_kernels,
        max_depth=max_depth,
        seed=seed,
        compute_units=compute_units,
        memory=memory,
    )
    for_rule = replace(settings, max_kernels=max_kernels - reserved(every, table, settings))
    found = fit(table, for_rule, method=method, held_out=held_out, on_step=on_step)
    regret = next((row.regret for row in found.rows if row.rule == found.rule), None)
    exact = exact_map(
        every,
        table,
        found.fitted,
        settings,
        efficiency=regret.geomean if regret else 0.0,
        is_joined=is_joined,
    )
    selector = Selector(
        contraction=contraction,
        portfolio=tuple(every.kernels[column] for column in exact.portfolio),
        tree=found.fitted.tree,
        formulas=found.fitted.formulas,
        teacher=found.fitted.teacher,
        exact=tuple(((*size,), kernel) for size, kernel in exact.kernels),
        regret=regret,
        conditions=(*conditions, *((("method", method),) if method != AUTO else ())),
    )
    return Distilled(selector, found.rule, found.rows, settings, exact.left_out)


def _check(
    method: str, tolerance: float, max_kernels: int, max_depth: int, held_out: float
) -> None:
    for name, value, low, high in (
        ("tolerance", tolerance, 0.0, 10.0),
        ("max_kernels", max_kernels, 1, 10_000),
        ("max_depth", max_depth, 0, MAX_DEPTH),
        ("held_out", held_out, 0.01, 0.5),
    ):
        if not low <= value <= high:
            raise UsageError(f"distil: {name} must be from {low} to {high}, got {value}")
    if method not in (AUTO, *METHODS):
        raise UsageError(f"distil: {unknown('method', method, (AUTO, *METHODS))}")


def _best(
    by_rule: Mapping[str, RegretRow], method: str, fit_student: Callable[[], Taught]
) -> tuple[str, Taught | None]:
    """Return the best rule, and the taught tree if it is that rule or was asked for."""
    best = best_rule(by_rule)
    if TAUGHT not in (method, best):
        return best, None
    student = fit_student()
    if method != TAUGHT and student.loss > MOST_LOST:
        other = best_rule(by_rule, {TAUGHT})
        if by_rule[other].regret.geomean >= by_rule[TAUGHT].regret.geomean:
            return other, None
    return best, student


def _fitted(
    rule: str,
    table: TimeTable,
    settings: Settings,
    student: Taught | None,
    losses: Sequence[float],
) -> Fitted:
    """Fit a rule to all sizes; the leaves of a tree state the losses of each size, if known."""
    student = student if rule == TAUGHT else None
    fitted = student.fitted if student else fit_rule(rule, table, settings)
    if not losses or fitted.formulas or not isinstance(fitted.tree, Split):
        return fitted
    check = student.check if student else None
    return replace(fitted, tree=with_losses(fitted.tree, table.sizes, losses, check))


def _with_auto(rows: Sequence[RegretRow], best: str) -> Iterator[RegretRow]:
    """Yield the rows, with the best method's row repeated as `auto` before the first method."""
    for row in rows:
        if row.rule == next(iter(METHODS)):
            yield from (replace(other, rule=AUTO) for other in rows if other.rule == best)
        yield row
