"""The geometric mean of times, in which all sizes have the same weight."""

from __future__ import annotations

import math
from collections.abc import Collection


def geometric_mean(values: Collection[float]) -> float:
    """Return the geometric mean; for a single value exactly that value."""
    if len(values) == 1:
        return next(iter(values))
    return math.exp(math.fsum(map(math.log, values)) / len(values))
