"""The share of the builds' time in which the device measured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Span = tuple[float, float]


def covered_share(spans: Iterable[Span], by: Iterable[Span]) -> float | None:
    """Return the share of the union of `spans` that the union of `by` covers; None if empty."""
    merged, cover = _merge(spans), _merge(by)
    total = sum(end - begin for begin, end in merged)
    if total <= 0:
        return None
    shared = sum(
        max(0.0, min(end, last) - max(begin, first))
        for begin, end in merged
        for first, last in cover
    )
    return shared / total


def _merge(spans: Iterable[Span]) -> Sequence[Span]:
    merged: list[Span] = []
    for begin, end in sorted(spans):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((begin, end))
    return merged
