"""The geometric mean of times, which weighs a small size like a large one."""

from __future__ import annotations

import math
from collections.abc import Collection


def geometric_mean(values: Collection[float]) -> float:
    """Return the geometric mean; of a single value the value itself, to the last bit."""
    if len(values) == 1:
        return next(iter(values))
    return math.exp(math.fsum(map(math.log, values)) / len(values))
