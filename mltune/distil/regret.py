"""The regret table: the loss of each rule on sizes that it was not fitted to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mltune.distil.fit import Settings, folds
from mltune.distil.rules import RULES
from mltune.distil.table import GAP, TimeTable
from mltune.selector import Regret

Losses = Mapping[str, NDArray[np.float64]]
"""By rule, log of chosen time / best time of each size."""


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


@dataclass(frozen=True, slots=True)
class Fold:
    """Sizes that rules are fitted to, and others that judge them.

    Attributes:
        rows: those of the judging sizes in the table of all.
    """

    train: TimeTable
    test: TimeTable
    rows: tuple[int, ...]

    def losses(self, settings: Settings) -> Losses:
        """Fit every rule, and return its losses on the judging sizes."""
        return {name: rule(self.train, self.test, settings) for name, rule in RULES.items()}


def folds_of(table: TimeTable, *, held_out: float, settings: Settings) -> list[Fold]:
    """Split a table so that each size judges once; no folds if there is only one size."""
    count = len(table.sizes)
    if count < 2:
        return []
    return [  # one table a fold, so that rules share cached fits
        Fold(table.take(train), table.take(test), tuple(test))
        for train, test in folds(count, round(1 / held_out), settings.seed)
    ]


def regret_rows(
    table: TimeTable, parts: Sequence[Fold], judged: Sequence[Losses]
) -> tuple[RegretRow, ...]:
    """Return one row per rule from its losses in each fold; none without folds.

    Each size counts once: those that a program calls most are in the map of exact sizes.
    """
    if not parts:
        return ()
    losses = {rule: np.zeros(len(table.sizes)) for rule in RULES}
    for part, found in zip(parts, judged, strict=True):
        for rule, loss in found.items():
            losses[rule][[*part.rows]] = loss
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
