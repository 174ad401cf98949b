"""The teacher: what every kernel of a portfolio takes on any size, and how sure that is.

It adds to each kernel's time formula what a Gaussian process learned of the rests. How much the
process says beside the formula is settled by predicting every measured time without itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from mltune.distil.fit import KEPT, Settings
from mltune.distil.formula_times import log_seconds
from mltune.distil.formulas import fit_formula
from mltune.distil.portfolio import cover
from mltune.distil.residuals import Residuals
from mltune.distil.table import TimeTable
from mltune.kernel.name import global_split_of, macro_tile_of
from mltune.selector import TimeFormula

Array = NDArray[np.float64]

TOLERANCE = 0.005
"""Of the portfolio: a teacher tells kernels apart that a tree of few sizes could not.

On splits 100 and 101 of the first run of an H200 0.005 lost 0.1 % less than 0.02 on held-out
sizes, and as much as 0; elsewhere all three were the same.
"""

_UNKNOWN_TILE = (1, 1, 1)
"""Of a kernel whose name tells none: its formula counts elements of C and terms."""


@dataclass(frozen=True, slots=True, eq=False)
class Teacher:
    """Predicts the times of a portfolio.

    Attributes:
        portfolio: columns of the table that it learned from.
        formulas: one for each kernel of the portfolio.
        residuals: what they leave; None where too few sizes were measured.
    """

    portfolio: tuple[int, ...]
    formulas: tuple[TimeFormula, ...]
    residuals: Residuals | None

    def log_seconds(self, sizes: Array) -> Array:
        """The logs of the times that it expects.

        Args:
            sizes: m, n, k and batch, a row each, at least 1.

        Returns:
            A row for each size, a column for each kernel of the portfolio.
        """
        expected = log_seconds(self.formulas, sizes)
        return expected if self.residuals is None else expected + self.residuals.expect(sizes)

    def doubt(self, sizes: Array) -> Array:
        """Their standard deviations, likewise; infinite where nothing tells."""
        if self.residuals is None:
            return np.full((len(sizes), len(self.portfolio)), np.inf)
        return self.residuals.doubt(sizes)

    def choose(self, table: TimeTable) -> NDArray[np.intp]:
        """The table's column that it expects to be the fastest, for each of its sizes."""
        expected = self.log_seconds(np.array(table.sizes, dtype=np.float64))
        return np.asarray(np.array(self.portfolio)[expected.argmin(axis=1)])

    def losses(self, table: TimeTable) -> Array:
        """Log of chosen time / best time, for each size of a table."""
        return table.log_ratios[np.arange(len(table.sizes)), self.choose(table)]


@lru_cache(maxsize=KEPT)
def teach(table: TimeTable, settings: Settings) -> Teacher:
    """Choose a portfolio, and learn from the measured times of its kernels."""
    tolerance = min(settings.tolerance, TOLERANCE)
    portfolio = cover(table, tolerance=tolerance, max_kernels=settings.max_kernels)
    return learn(table, portfolio, settings)


def learn(table: TimeTable, portfolio: tuple[int, ...], settings: Settings) -> Teacher:
    """Learn from the measured times of some kernels."""
    formulas = []
    for column in portfolio:
        name = table.kernels[column].name
        side_0, side_1, depth = macro_tile_of(name) or _UNKNOWN_TILE
        rows, columns = (side_1, side_0) if settings.swapped else (side_0, side_1)
        tile = (rows, columns, depth)
        formulas.append(fit_formula(table, column, tile, settings, global_split_of(name)))
    sizes = np.array(table.sizes, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        rests = np.log(table.seconds[:, list(portfolio)]) - log_seconds(formulas, sizes)
    if np.isfinite(rests).sum(axis=0).min() < 2:
        return Teacher(portfolio, tuple(formulas), None)
    return Teacher(portfolio, tuple(formulas), Residuals.learn(sizes, rests, settings))
