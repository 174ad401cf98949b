"""A size: the extents, written as `MxNxK`, and a count."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from mltune.errors import UsageError

MAX_EXTENT = 2**31 - 1
"""Kernels and exported C store an extent in 32 bits."""

MAX_SIZES = 100_000
"""A list with more sizes is most likely a mistake in a range."""


@dataclass(frozen=True, slots=True)
class Size:
    """The extents of a problem, without its type.

    Attributes:
        extents: (m, n, k) or (m, n, k, batch) of a GEMM, else the extents by index number.
        count: how often the size is called, which is its weight.

    Raises:
        UsageError: when an extent or the count is out of range.
    """

    extents: tuple[int, ...]
    count: int = 1

    def __post_init__(self) -> None:
        if not self.extents:
            raise UsageError("size: needs at least one extent")
        for extent in self.extents:
            if not 1 <= extent <= MAX_EXTENT:
                raise UsageError(
                    f"size '{self.label}': each extent must be 1 to {MAX_EXTENT}, got {extent}"
                )
        if self.count < 1:
            raise UsageError(f"size '{self.label}': count must be at least 1, got {self.count}")

    @property
    def label(self) -> str:
        """The extents as a user writes them: `64x64x64`."""
        return "x".join(str(extent) for extent in self.extents)

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping that `from_json` reads back."""
        return {"extents": list(self.extents), "count": self.count}

    @classmethod
    def from_json(cls, data: Any) -> Size:
        """Read what `to_json` wrote.

        Raises:
            UsageError: when it is no such mapping.
        """
        if not isinstance(data, dict) or set(data) != {"extents", "count"}:
            raise UsageError(f"size: expected extents and count, got {data!r:.80}")
        extents, count = data["extents"], data["count"]
        if not isinstance(extents, list) or not all(
            type(number) is int for number in (*extents, count)
        ):
            raise UsageError(f"size: extents and count must be whole numbers, got {data!r:.80}")
        return cls(tuple(extents), count)


def merge_sizes(sizes: Iterable[Size]) -> tuple[Size, ...]:
    """Merge equal extents and add their counts; the order of first appearance is kept.

    Raises:
        UsageError: when there are more than `MAX_SIZES` different sizes.
    """
    counts: dict[tuple[int, ...], int] = {}
    for size in sizes:
        counts[size.extents] = counts.get(size.extents, 0) + size.count
        if len(counts) > MAX_SIZES:
            raise UsageError(f"sizes: more than {MAX_SIZES} different sizes")
    return tuple(Size(extents, count) for extents, count in counts.items())
