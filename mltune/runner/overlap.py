"""The share of the builds' time in which the device measured."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

Span = tuple[float, float]


def covered_share(spans: Sequence[Span], by: Sequence[Span]) -> float | None:
    """Return the share of the union of `spans` that the union of `by` covers; None if empty."""
    total = _length(spans)
    if total <= 0:
        return None
    shared = total + _length(by) - _length((*spans, *by))
    return max(shared, 0.0) / total  # rounded, it could be a little less than 0


def _length(spans: Iterable[Span]) -> float:
    """Return the length of the union of spans."""
    length, covered_until = 0.0, -math.inf
    for begin, end in sorted(spans):
        length += max(end - max(begin, covered_until), 0.0)
        covered_until = max(covered_until, end)
    return length
