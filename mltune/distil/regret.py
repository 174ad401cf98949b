"""The regret table: what each rule loses on sizes that it was not fitted on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mltune.distil.fit import Settings, folds
from mltune.distil.rules import RULES
from mltune.distil.table import TimeTable
from mltune.selector import Regret


@dataclass(frozen=True, slots=True, kw_only=True)
class RegretRow:
    """How one rule did.

    Attributes:
        within_5_percent: the share of held-out sizes where it chose a kernel at most 5 % slower
            than the best known one.
    """

    rule: str
    regret: Regret
    within_5_percent: float


def regret_table(
    table: TimeTable, *, held_out: float, settings: Settings
) -> tuple[RegretRow, ...]:
    """Judge every rule on every size, each time fitted without a share `held_out` of the sizes.

    The mean counts the sizes by their weights, the rest each size once.

    Returns:
        One row per rule; none if there is only one size.
    """
    count = len(table.sizes)
    if count < 2:
        return ()
    losses = {rule: np.zeros(count) for rule in RULES}
    for train_rows, test_rows in folds(count, max(2, round(1 / held_out)), settings.seed):
        train, test = table.take(train_rows), table.take(test_rows)
        for rule, judge in RULES.items():
            losses[rule][test_rows] = judge(train, test, settings)
    rows = []
    for rule, loss in losses.items():
        efficiency = np.exp(-loss)
        worst = int(np.argmin(efficiency))
        regret = Regret(
            sizes=count,
            geomean=float(np.exp(-np.average(loss, weights=table.size_weights))),
            p10=float(np.quantile(efficiency, 0.1)),
            worst=float(efficiency[worst]),
            worst_size=table.sizes[worst].label,
        )
        within = float(np.mean(efficiency >= 1 / 1.05))
        rows.append(RegretRow(rule=rule, regret=regret, within_5_percent=within))
    return tuple(rows)
