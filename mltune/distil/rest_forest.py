"""Corrections of the formulas' times, learned by random trees over sizes.

A Gaussian process expects similar sizes to be alike. Trees find steps: an extent becomes small,
the alignment changes, or one formula becomes faster than another. The mean of both predicts better
than either alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

TREES, LEAST_IN_LEAF, ASKED = 32, 2, 1 / 3
"""The number of trees, the least sizes in a leaf, and the share of the features from which a split
is chosen.

On split 100 of sgemm NT, dgemm and four runs of an H200, results with 64 and 150 trees, 1 and 4
sizes, and shares of 1/4, 1/2 and 1 were within 0.13 % of each other on held-out sizes; on PoCL
within 0.6 %.
"""

_ALIGNED = 64


@dataclass(frozen=True, slots=True, eq=False)
class RestForest:
    """Predicts corrections of the logs of formulas' times, up to a constant for each size.

    Attributes:
        model: scikit-learn's forest, one output for each kernel.
    """

    model: Any

    @classmethod
    def learn(cls, sizes: Array, logs: Array, rests: Array) -> RestForest:
        """Learn from measured times.

        Args:
            sizes: m, n, k and batch, a row each.
            logs: logs of the formulas' times, by size and kernel.
            rests: log of measured time / formula's time, by size and kernel; none is missing.
        """
        from sklearn.ensemble import ExtraTreesRegressor  # takes long to load, as in fit.py

        model = ExtraTreesRegressor(
            TREES, min_samples_leaf=LEAST_IN_LEAF, max_features=ASKED, random_state=0
        )
        # A part that is equal for all kernels does not change the choice.
        return cls(model.fit(_asked(sizes, logs), rests - rests.mean(axis=1, keepdims=True)))

    def expect(self, sizes: Array, logs: Array) -> Array:
        """Return the corrections, a row for each size and a column for each kernel."""
        found = np.asarray(self.model.predict(_asked(sizes, logs)), dtype=np.float64)
        return found.reshape(logs.shape)


def _asked(sizes: Array, logs: Array) -> NDArray[np.float32]:
    """The features: sizes, their products and ratios, alignment, and the formulas' times."""
    extents = np.log2(sizes)
    m, n, k, _ = extents.T
    aligned = np.log2(np.gcd(sizes[:, :3].astype(np.int64), _ALIGNED))
    others = (m + n, m + k, n + k, m + n + k, m - n, k - (m + n) / 2)
    relative = logs - logs.mean(axis=1, keepdims=True)
    return np.column_stack([extents, *others, aligned, relative]).astype(np.float32)
