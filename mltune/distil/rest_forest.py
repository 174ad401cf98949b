"""What formulas leave of the measured times, learned by random trees over sizes.

A Gaussian process expects that near sizes are alike. Trees find steps, such as where an extent
becomes small, where alignment changes or where one formula overtakes another. The mean of both
predicts better than each of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

TREES, LEAST_IN_LEAF, ASKED = 32, 2, 1 / 3
"""The forest's size, the sizes in a leaf, and the share of the features that a question is
chosen from.

On split 100 of sgemm NT, dgemm and four runs of an H200, 64 and 150 trees, 1 and 4 sizes, shares
of 1/4, 1/2 and 1 were within 0.13 % of each other on held-out sizes; on PoCL within 0.6 %.
"""

_ALIGNED = 64


@dataclass(frozen=True, slots=True, eq=False)
class RestForest:
    """Predicts what to add to the log of a formula's time, up to a number for each size.

    Attributes:
        model: scikit-learn's forest, one output for each kernel.
    """

    model: Any

    @classmethod
    def learn(cls, sizes: Array, logs: Array, rests: Array) -> RestForest:
        """Learn from measured times.

        Args:
            sizes: m, n, k and batch, a row each.
            logs: of the formulas' times by size and kernel.
            rests: log of measured time / formula's time, likewise; none is unknown.
        """
        from sklearn.ensemble import ExtraTreesRegressor  # takes long to load, as in fit.py

        model = ExtraTreesRegressor(
            TREES, min_samples_leaf=LEAST_IN_LEAF, max_features=ASKED, random_state=0
        )
        # What slows all kernels alike changes no choice.
        return cls(model.fit(_asked(sizes, logs), rests - rests.mean(axis=1, keepdims=True)))

    def expect(self, sizes: Array, logs: Array) -> Array:
        """Return what to add, a row for each size and a column for each kernel."""
        found = np.asarray(self.model.predict(_asked(sizes, logs)), dtype=np.float64)
        return found.reshape(logs.shape)


def _asked(sizes: Array, logs: Array) -> NDArray[np.float32]:
    """The features: sizes, their products and ratios, alignment, and what formulas say."""
    extents = np.log2(sizes)
    m, n, k, _ = extents.T
    aligned = np.log2(np.gcd(sizes[:, :3].astype(np.int64), _ALIGNED))
    others = (m + n, m + k, n + k, m + n + k, m - n, k - (m + n) / 2)
    relative = logs - logs.mean(axis=1, keepdims=True)
    return np.column_stack([extents, *others, aligned, relative]).astype(np.float32)
