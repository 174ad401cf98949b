"""The regret table: the loss of each rule on sizes that it was not fitted to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mltune.distil.fit import Settings, folds
from mltune.distil.rules import RULES
from mltune.distil.table import GAP, TimeTable
from mltune.selector import Regret
from mltune.side_by_side import side_by_side


@dataclass(frozen=True, slots=True, kw_only=True)
class RegretRow:
    """The score of one rule.

    Attributes:
        within_5_percent: the share of held-out sizes where it chose a kernel at most 5 % slower
            than the best known one.
        losses: log of chosen time / best time, for each size of the table.
    """

    rule: str
    regret: Regret
    within_5_percent: float
    losses: tuple[float, ...]

    @property
    def gaps(self) -> tuple[bool, ...]:
        """For each size, whether the rule chose a kernel that has no time there."""
        return tuple(loss == GAP for loss in self.losses)


def regret_table(
    table: TimeTable,
    *,
    held_out: float,
    settings: Settings,
    on_step: Callable[[int, int], None] = lambda done, total: None,
) -> tuple[RegretRow, ...]:
    """Judge every rule on every size, each time fitted without a share `held_out` of the sizes.

    Each size counts once: those that a program calls most are in the map of exact sizes.

    Args:
        table: seconds of every kernel on every size.
        held_out: the share of the sizes.
        settings: of the fits.
        on_step: called with the number of sizes judged so far, and of all.

    Returns:
        One row per rule; none if there is only one size.
    """
    count = len(table.sizes)
    if count < 2:
        return ()
    losses = {rule: np.zeros(count) for rule in RULES}
    parts = [  # one table a fold, so that rules share cached fits
        (table.take(train_rows), table.take(test_rows), test_rows)
        for train_rows, test_rows in folds(count, max(2, round(1 / held_out)), settings.seed)
    ]

    def judge(part: tuple[TimeTable, TimeTable, list[int]]) -> dict[str, NDArray[np.float64]]:
        train, test, _ = part
        return {name: rule(train, test, settings) for name, rule in RULES.items()}

    on_step(0, count)
    done = 0
    import sklearn.tree  # noqa: F401  # once, before the processes are copied

    judged = side_by_side(judge, parts)
    for found, (_, _, test_rows) in zip(judged, parts, strict=True):
        for rule, loss in found.items():
            losses[rule][test_rows] = loss
        done += len(test_rows)
        on_step(done, count)
    return tuple(row_of(rule, loss, table) for rule, loss in losses.items())


def row_of(rule: str, loss: NDArray[np.float64], table: TimeTable) -> RegretRow:
    """Sum up a rule's losses, as log ratios, on the sizes of a table."""
    efficiency = np.exp(-loss)
    worst = int(np.argmin(efficiency))
    regret = Regret(
        sizes=len(loss),
        geomean=float(np.exp(-loss.mean())),
        p10=float(np.quantile(efficiency, 0.1)),
        worst=float(efficiency[worst]),
        worst_size=table.sizes[worst].label,
    )
    within = float(np.mean(efficiency >= 1 / 1.05))
    known = tuple(loss.tolist())
    return RegretRow(rule=rule, regret=regret, within_5_percent=within, losses=known)
