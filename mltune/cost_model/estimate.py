"""A first estimate of the time from the counts of a roofline: work, bytes, groups, a launch.

Trees cannot predict times beyond those they have seen. So they learn the log of measured /
estimated time, which stays near 0 for sizes far from the measured ones. On synthetic tables of 40
sizes this reduced the error on held-out sizes from 0.45 to 0.14 (RMSE of log seconds), on 36
kernels and 16 sizes measured with PoCL from 0.49 to 0.37.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from mltune.errors import UsageError

Array = NDArray[np.float64]

TERMS = ("flops", "bytes", "work of the busiest unit", "local bytes", "work-groups", "launch")

_LEAST_SECONDS = 1e-9
"""A lower bound, so that a config without tiles has a finite log whatever the rates are."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Seconds = sum of rate x count over `TERMS`.

    Raises:
        UsageError: when a rate is negative or none is positive.
    """

    rates: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.rates) != len(TERMS) or min(self.rates) < 0 or not 0 < sum(self.rates) < 1e300:
            raise UsageError(f"estimate: rates must be positive or 0, got {self.rates}")

    def log_seconds(self, names: Sequence[str], rows: Array) -> Array:
        """The log of the estimated seconds of each row of features."""
        seconds = _counts(names, rows) @ np.array(self.rates)
        return np.asarray(np.log(np.maximum(seconds, _LEAST_SECONDS)))

    @classmethod
    def fit(cls, names: Sequence[str], rows: Array, seconds: Array) -> Estimate:
        """Find the rates with the least squares of the relative errors."""
        relative = _counts(names, rows) / seconds[:, None]
        scale = np.linalg.norm(relative, axis=0)  # a flop and a launch differ by a factor of 10^10
        scale[scale == 0] = 1.0
        relative /= scale
        best, least = np.zeros(len(TERMS)), np.inf
        # There are so few terms that non-negative least squares can try every subset of them.
        for size in range(1, len(TERMS) + 1):
            for subset in map(list, combinations(range(len(TERMS)), size)):
                solved, *_ = np.linalg.lstsq(relative[:, subset], np.ones(len(rows)), rcond=None)
                loss = float(np.sum((relative[:, subset] @ solved - 1) ** 2))
                if loss < least and solved.min() >= 0 and solved.max() > 0:
                    least, best = loss, np.zeros(len(TERMS))
                    best[subset] = solved
        return cls(tuple((best / scale).tolist()))


def _counts(names: Sequence[str], rows: Array) -> Array:
    """Return the count of each term, per row; counts of tiles are 0 for a config without tiles."""
    column = {name: rows[:, place] for place, name in enumerate(names)}
    logs = [
        column["log2 flops"],
        column["log2 bytes"],
        column["log2 work of the busiest unit"],
        column["log2 bytes through local memory"],
        column["log2 work-groups"],
        np.zeros(len(rows)),
    ]
    return np.nan_to_num(np.exp2(np.stack(logs, axis=1)), nan=0.0)
