"""The teacher: predicts the time of every kernel of a portfolio on any size, and its uncertainty.

It adds a Gaussian process of the residuals to each kernel's time formula. Predicting every
measured time without itself decides the weight of the process, and whether each kernel's formula
is used, or the mean of all formulas with a constant for each kernel.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from mltune.distil.drawn_sizes import drawn_sizes
from mltune.distil.fit import KEPT, Settings
from mltune.distil.formula_times import log_seconds
from mltune.distil.formulas import fit_each
from mltune.distil.likeness import kernel_covariance
from mltune.distil.portfolio import cover
from mltune.distil.residual_forest import ResidualForest
from mltune.distil.residuals import Residuals, means_of_known
from mltune.distil.table import LEAST_MET, Size, TimeTable
from mltune.distil.traffic import Traffic
from mltune.kernel.name import Blocking, blocking_of
from mltune.selector import TimeFormula

Array = NDArray[np.float64]

TOLERANCE = 0.005
"""Of the portfolio: smaller than the tree's, as a teacher can tell similar kernels apart.

On splits 100 and 101 of the first run of an H200, 0.005 lost 0.1 % less than 0.02 on held-out
sizes, and as much as 0; elsewhere all three were the same.
"""

DRAWN = 2000
"""Drawn sizes that the portfolio is chosen for, too, with times predicted for all kernels.

With hundreds of measured sizes alone, the choice of kernels is partly chance. On splits 100 to 105
of the first run of an H200 and of four runs together the teacher lost 0.12 % less on held-out
sizes (in 5 of 6 splits each).
"""

LEAST_TIMES = 2
"""Measured times that a kernel needs, to be predicted."""

SHARES = (1.0, 0.5, 0.0)
"""Weights of a kernel's own formula; the rest is the mean of all formulas, and a constant.

Formulas count waves, which processors do not have: on splits 100 and 101 of the shipped PoCL run
0.0 lost 6.9 and 7.4 % on held-out sizes, 1.0 11.2 and 11.5 %; on a GPU 1.0 is taken.
"""

FOREST_SHARE, MEAN_FOREST_SHARE = 0.75, 0.5
"""The forest's weight in the correction of the formulas, and of the mean of all formulas if it is
used; the Gaussian process has the rest.

On splits 100 to 103 of nine tables of an H200, 0.75 lost 0.03 % less on held-out sizes than 0.5,
and 0.15 % less than 0; a tree imitates a forest better than a process. On PoCL 0.5 lost 0.2 % less
than 0.75, and 0.7 % less than 0.
"""

UNMET = 0.4
"""Added to the log of a kernel's predicted time far from all sizes of the runs that have it.

Of many kernels that were timed elsewhere, one is expected to be the fastest by chance. A run on
few columns, read with others, made packs of an H200 3 to 6 % slower on other sizes of dgemm TN and
hgemm NN, on which this was chosen: 0.2 was too little, 0.8 no better.
"""

CAUTION = 0.5
"""Standard deviations that are added to the log of a kernel's predicted time, if its own formula
tells it.

The least of many predictions tends to be too small, most of all that of a kernel which was timed
on few sizes, or follows no formula. Chosen on hgemm NN, TN, TT, dgemm NN, TN and sgemm NT of an
H200 (splits 901 to 908; 0.25 and 1 gained less). On splits 911 and 912, hgemm NT lost 0.5 and 1 %
less on held-out sizes, dgemm NT 0.2, sgemm NN 0.2 and TT 0.1, the first run 0.2. PoCL's, whose
formulas do not tell, would lose 0.05 % more.
"""

LEAST_SIZES = 32
"""The fewest measured sizes for which a forest is grown."""

_Doubt = tuple[NDArray[np.bool_], Array | float]
"""Which sizes each kernel met, and what is added to the log of its time far from them."""

_UNKNOWN = Blocking(sides=(1, 1), depth=1)
"""Of a kernel whose name has no tile: its formula counts elements of C and terms."""


@dataclass(frozen=True, slots=True, eq=False)
class Teacher:
    """Predicts the times of a portfolio.

    Attributes:
        portfolio: columns of the table that it learned from.
        formulas: one for each kernel of the portfolio.
        residuals: of the formulas; None if too few sizes were measured.
        share: one of `SHARES`.
        offsets: each kernel's mean residual above that of all, if the share is below 1.
        forest: of the same residuals; None if too few sizes were measured.
        traffic: below whose times no prediction is; None if the device's memory is not known.
        met: which of the measured sizes are of a run with the kernel; None if all are.
    """

    portfolio: tuple[int, ...]
    formulas: tuple[TimeFormula, ...]
    residuals: Residuals | None
    share: float = 1.0
    offsets: Array | float = 0.0
    forest: ResidualForest | None = None
    traffic: Traffic | None = None
    met: NDArray[np.bool_] | None = None

    @property
    def tells(self) -> tuple[TimeFormula, ...]:
        """The formulas, if they tell by themselves which kernels are fast."""
        return self.formulas if self.share == 1 else ()

    def log_seconds(self, sizes: Array, by_formulas: Array | None = None) -> Array:
        """Return the logs of the predicted times, longer where a kernel is doubted.

        Args:
            sizes: m, n, k and batch, a row each, at least 1.
            by_formulas: the same by the formulas alone, if the caller has them.

        Returns:
            A row for each size, a column for each kernel of the portfolio.
        """
        doubts: list[_Doubt] = []
        if self.residuals is not None and self.share == 1:
            doubts.append((self.residuals.timed, CAUTION * np.sqrt(self.residuals.scale)))
        if self.met is not None:
            doubts.append((self.met, UNMET))
        return self._expect(sizes, by_formulas, doubts)

    def likely(self, sizes: Array) -> Array:
        """Return the same without doubt."""
        return self._expect(sizes)

    def _expect(
        self,
        sizes: Array,
        by_formulas: Array | None = None,
        doubts: Sequence[_Doubt] = (),
    ) -> Array:
        logs = log_seconds(self.formulas, sizes) if by_formulas is None else by_formulas
        expected = np.asarray(_mixed(logs, self.share) + self.offsets)
        if self.residuals is not None:
            corrections, *apart = self.residuals.expect_apart(sizes, *(met for met, _ in doubts))
            if self.forest is not None:
                mean = corrections.mean(axis=1, keepdims=True)
                weight = FOREST_SHARE if self.share == 1 else MEAN_FOREST_SHARE
                corrections += weight * (self.forest.expect(sizes, logs) + mean - corrections)
            expected += corrections
            for far, (_, penalty) in zip(apart, doubts, strict=True):
                expected += penalty * far
        return self._at_least(expected, sizes)

    def roughly(self, sizes: Array, by_formulas: Array) -> Array:
        """Return the same by the formulas alone, in a tenth of the time."""
        expected = _mixed(by_formulas, self.share) + self.offsets
        return self._at_least(np.asarray(expected), sizes)

    def _at_least(self, expected: Array, sizes: Array) -> Array:
        if self.traffic is None:
            return expected
        return np.maximum(expected, self.traffic.log_seconds(sizes))

    def doubt(self, sizes: Array) -> Array:
        """Return their standard deviations in the same form; infinite if unknown."""
        if self.residuals is None:
            return np.full((len(sizes), len(self.portfolio)), np.inf)
        return self.residuals.doubt(sizes)

    def choose(self, table: TimeTable) -> NDArray[np.intp]:
        """Return the column of the kernel with the least predicted time, for each of its sizes."""
        expected = self.log_seconds(np.array(table.sizes, dtype=np.float64))
        return np.asarray(np.array(self.portfolio)[expected.argmin(axis=1)])

    def losses(self, table: TimeTable) -> Array:
        """Return log(chosen time / best time) for each size of a table."""
        return table.losses(self.choose(table))


@lru_cache(maxsize=KEPT)
def teach(table: TimeTable, settings: Settings) -> Teacher:
    """Choose a portfolio, and learn from the measured times of its kernels."""
    tolerance = min(settings.tolerance, TOLERANCE)
    shown = _with_drawn(table, settings)
    portfolio = cover(shown, tolerance=tolerance, max_kernels=settings.max_kernels)
    return learn(table, portfolio, settings)


def _with_drawn(table: TimeTable, settings: Settings) -> TimeTable:
    """Add random sizes near the table's own, with times predicted by a teacher of all kernels.

    Kernels with few measured or predicted times have no time there.
    """
    timed = np.isfinite(table.seconds).sum(axis=0)
    is_known = np.isfinite(table.known).mean(axis=0) >= LEAST_MET
    columns = np.flatnonzero(is_known & (timed >= LEAST_TIMES))
    if len(columns) <= settings.max_kernels:
        return table
    teacher = learn(table, tuple(columns.tolist()), settings)
    drawn = drawn_sizes(DRAWN, table, settings.seed, near=1.0).astype(np.int64)
    new = dict.fromkeys(Size(*size) for size in drawn.tolist())
    known = set(table.sizes)
    sizes = tuple(size for size in new if size not in known)
    nothing = np.full((len(sizes), len(table.kernels)), np.nan)
    seconds = nothing.copy()
    seconds[:, columns] = np.exp(teacher.log_seconds(np.array(sizes, dtype=np.float64)))
    return TimeTable(
        sizes=(*table.sizes, *sizes),
        kernels=table.kernels,
        seconds=np.concatenate((table.seconds, seconds)),
        weights=np.concatenate((table.size_weights, np.ones(len(sizes)))),
        expected=np.concatenate((table.expected_seconds, nothing)),
    )


def learn(table: TimeTable, portfolio: tuple[int, ...], settings: Settings) -> Teacher:
    """Learn from the measured times of some kernels."""
    blockings = [blocking_of(table.kernels[column].name) or _UNKNOWN for column in portfolio]
    formulas = fit_each(table, portfolio, blockings, settings)
    sizes = np.array(table.sizes, dtype=np.float64)
    logs = np.log(table.seconds[:, list(portfolio)])
    if np.isfinite(logs).sum(axis=0).min() < LEAST_TIMES:
        return Teacher(portfolio, formulas, None)
    expected = log_seconds(formulas, sizes)
    found: list[Teacher] = []
    for share in SHARES:
        residuals = logs - _mixed(expected, share)
        offsets = _offsets(residuals) if share < 1 else 0.0
        process = Residuals.learn(sizes, residuals - offsets, settings)
        found.append(Teacher(portfolio, formulas, process, share, offsets))
    best = min(found, key=lambda one: one.residuals.error if one.residuals else math.inf)
    assert best.residuals is not None
    residuals = logs - _mixed(expected, best.share) - best.offsets
    alike = kernel_covariance([table.kernels[column] for column in portfolio])
    best = replace(best, residuals=best.residuals.joined(residuals, alike))
    if table.met is not None:
        best = replace(best, met=table.met[:, list(portfolio)])
    if settings.memory is not None:
        best = replace(
            best,
            traffic=Traffic(settings.memory, blockings, settings.compute_units, settings.swapped),
        )
    if len(portfolio) == 1 or len(sizes) < LEAST_SIZES:
        return best
    return _with_forest(best, sizes, residuals, expected)


def _with_forest(teacher: Teacher, sizes: Array, residuals: Array, expected: Array) -> Teacher:
    """Let a forest learn the same residuals; those that nobody measured are the process's."""
    assert teacher.residuals is not None
    filled = np.where(np.isfinite(residuals), residuals, teacher.residuals.expect(sizes))
    return replace(teacher, forest=ResidualForest.learn(teacher.formulas, sizes, expected, filled))


def _mixed(logs: Array, share: float) -> Array:
    return logs if share == 1 else share * logs + (1 - share) * logs.mean(axis=1, keepdims=True)


def _offsets(residuals: Array) -> Array:
    """Return how much each kernel's residuals are above the mean of all on the same sizes."""
    return np.asarray(np.nanmean(residuals - means_of_known(residuals)[:, None], axis=0))
