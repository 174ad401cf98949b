"""A boosted forest as plain arrays: predicts without scikit-learn, and contains no code."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mltune.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Forest:
    """Regression trees; a prediction is the sum of their leaves.

    All trees share one list of nodes. A child comes after its parent, so every walk ends.

    Attributes:
        roots: the first node of each tree.
        feature: the column of a node's split; -1 at a leaf.
        threshold: a row goes to the low side if its value is at most this.
        low: the child on that side; a leaf's own number at a leaf.
        high: the other child; a leaf's own number at a leaf.
        nan_goes_low: the side of a row without a value.
        value: of a leaf; 0 elsewhere.
        baseline: added to every sum.

    Raises:
        UsageError: when the arrays do not describe trees.
    """

    roots: NDArray[np.int32]
    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    nan_goes_low: NDArray[np.bool_]
    value: NDArray[np.float64]
    baseline: NDArray[np.float64]

    def __post_init__(self) -> None:
        for field in fields(self):
            array = getattr(self, field.name)
            if array.ndim != 1 or array.dtype != _TYPES[field.name]:
                raise UsageError(
                    f"forest: '{field.name}' must be a row of {_TYPES[field.name]}, "
                    f"got {array.dtype} of shape {array.shape}"
                )
        count = len(self.feature)
        for name in ("threshold", "low", "high", "nan_goes_low", "value"):
            if len(getattr(self, name)) != count:
                raise UsageError(f"forest: '{name}' has not one entry per node")
        if len(self.baseline) != 1 or not np.isfinite(self.baseline[0]):
            raise UsageError("forest: 'baseline' must be one finite number")
        if not np.isfinite(self.value).all() or np.isnan(self.threshold).any():
            raise UsageError("forest: a value or a threshold is no number")
        if len(self.roots) == 0 or self.roots.min() < 0 or self.roots.max() >= count:
            raise UsageError("forest: there is no tree, or a root is not among the nodes")
        number = np.arange(count)
        is_leaf = self.feature == -1
        if (self.feature < -1).any():
            raise UsageError("forest: a node asks about a negative feature")
        for child in (self.low, self.high):
            later = (child > number) & (child < count)
            if not np.all(np.where(is_leaf, child == number, later)):
                raise UsageError("forest: a child does not stand after its parent")

    @property
    def features(self) -> int:
        """The number of columns that a row must have at least."""
        return int(self.feature.max(initial=-1)) + 1

    def predict(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the forest's sum for each row; nan is a missing value."""
        total = np.full(len(rows), self.baseline[0])
        columns = np.ascontiguousarray(rows.T)
        feature, threshold = self.feature.tolist(), self.threshold.tolist()
        low, high = self.low.tolist(), self.high.tolist()
        nan_goes_low, value = self.nan_goes_low.tolist(), self.value.tolist()
        # Rows go down each tree together, and are divided at its nodes.
        ahead = [(root, np.arange(len(rows))) for root in reversed(self.roots.tolist())]
        while ahead:
            node, inside = ahead.pop()
            if len(inside) == 0:
                continue
            if feature[node] < 0:
                total[inside] += value[node]
                continue
            asked = columns[feature[node]].take(inside)
            # Any comparison with nan is false.
            if nan_goes_low[node]:
                goes_low = ~(asked > threshold[node])
            else:
                goes_low = asked <= threshold[node]
            ahead.append((high[node], inside[~goes_low]))
            ahead.append((low[node], inside[goes_low]))
        return total

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays by name, as they are stored."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


_TYPES = {
    "roots": np.dtype(np.int32),
    "feature": np.dtype(np.int32),
    "threshold": np.dtype(np.float64),
    "low": np.dtype(np.int32),
    "high": np.dtype(np.int32),
    "nan_goes_low": np.dtype(np.bool_),
    "value": np.dtype(np.float64),
    "baseline": np.dtype(np.float64),
}
