"""Corrections of the formulas' times, learned by random trees over sizes.

A Gaussian process expects similar sizes to be alike. Trees find steps: an extent becomes small,
the alignment changes, a wave is full, or one formula becomes faster than another. The mean of both
predicts better than either alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mltune.distil.residuals import alignments, footprint, worst_alignment
from mltune.selector import TimeFormula

Array = NDArray[np.float64]

TREES, LEAST_IN_LEAF, ASKED = 32, 2, 1 / 3
"""The number of trees, the least sizes in a leaf, and the share of the features from which a split
is chosen.

On split 100 of sgemm NT, dgemm and four runs of an H200, results with 64 and 150 trees, 1 and 4
sizes, and shares of 1/4, 1/2 and 1 were within 0.13 % of each other on held-out sizes; on PoCL
within 0.6 %.
"""

_ALIGNED = 64

_ROWS = 2048
"""Sizes predicted at a time: their predictions by one tree fit into a cache."""


@dataclass(frozen=True, slots=True, eq=False)
class ResidualForest:
    """Predicts corrections of the logs of formulas' times, up to a constant for each size.

    Attributes:
        model: scikit-learn's forest, one output for each kernel.
        formulas: of the kernels.
    """

    model: Any
    formulas: tuple[TimeFormula, ...]

    @classmethod
    def learn(
        cls, formulas: tuple[TimeFormula, ...], sizes: Array, logs: Array, residuals: Array
    ) -> ResidualForest:
        """Learn from measured times.

        Args:
            formulas: of the kernels.
            sizes: m, n, k and batch, a row each.
            logs: logs of the formulas' times, by size and kernel.
            residuals: log of measured time / formula's time, by size and kernel; none is missing.
        """
        from sklearn.ensemble import ExtraTreesRegressor  # takes long to load, as in fit.py

        model = ExtraTreesRegressor(
            TREES, min_samples_leaf=LEAST_IN_LEAF, max_features=ASKED, random_state=0
        )
        # A part that is equal for all kernels does not change the choice.
        apart = residuals - residuals.mean(axis=1, keepdims=True)
        return cls(model.fit(_asked(formulas, sizes, logs), apart), formulas)

    def expect(self, sizes: Array, logs: Array) -> Array:
        """Return the corrections, a row for each size and a column for each kernel."""
        found = np.zeros(logs.shape)
        for first in range(0, len(sizes), _ROWS):
            rows = slice(first, first + _ROWS)
            asked = _asked(self.formulas, sizes[rows], logs[rows])
            for tree in self.model.estimators_:
                found[rows] += tree.tree_.predict(asked).reshape(logs[rows].shape)
        return found / len(self.model.estimators_)


def _asked(formulas: Sequence[TimeFormula], sizes: Array, logs: Array) -> NDArray[np.float32]:
    """The features.

    Sizes, their products and ratios, footprint, alignment, the waves of each tile and how full
    they are, and the formulas' times.
    """
    extents = np.log2(sizes)
    m, n, k, _ = extents.T
    aligned = alignments(sizes, _ALIGNED)
    others = (m + n, m + k, n + k, m + n + k, m - n, k - (m + n) / 2, np.log2(footprint(sizes)))
    worst = worst_alignment(sizes, formulas[0].multiples)
    waves = []
    for rows, columns, units in sorted({(one.rows, one.columns, one.units) for one in formulas}):
        tiles = np.ceil(sizes[:, 0] / rows) * np.ceil(sizes[:, 1] / columns) * sizes[:, 3]
        rounds = np.ceil(tiles / units)
        waves += [np.log2(rounds), tiles / (units * rounds)]
    relative = logs - logs.mean(axis=1, keepdims=True)
    return np.column_stack([extents, *others, aligned, worst, *waves, relative]).astype(np.float32)
