"""Looking at a device's memory where it lies: whole patterns, checksums and single elements.

What is found stays on the device until it is asked for, because every answer that is waited for
idles the device.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

MOST_SPOTS = 64
"""Elements of a tensor that can be written or kept at once."""


class PatternCheck(Protocol):
    """Whether stretches of memory hold one byte throughout, all of them with one answer."""

    def begin(self) -> None:
        """Forget what was found; returns at once."""
        ...

    def look(self, buffer: Any, first_byte: int, end_byte: int) -> None:
        """Look at a stretch of a buffer, whose ends are multiples of 8; returns at once."""
        ...

    def is_whole(self) -> bool:
        """Wait, and say whether nothing else was in any stretch since `begin`."""
        ...


@dataclass(frozen=True, slots=True)
class Kept:
    """Elements that are kept: `count` from place number `start` on, as numbers `first` and up."""

    start: int
    count: int
    first: int


@dataclass(frozen=True, slots=True)
class Put:
    """Elements that are written: `count` from place number `start` on, with values of a row."""

    start: int
    count: int
    row: int


class Spots(Protocol):
    """Single elements of one tensor, which are written before a launch and collected after it."""

    def exchange(self, tensor: Any, keep: Kept | None, then: Kept | Put | None) -> None:
        """Keep some elements, and then write or keep others; returns at once.

        A count is at most `MOST_SPOTS`.
        """
        ...

    def seen(self, count: int) -> Array:
        """Wait, and return the first elements that were kept."""
        ...


class Inspection(Protocol):
    """What a device tells about its memory; for use by one thread."""

    def checksums(self, *buffers: Any) -> tuple[int, ...]:
        """Wait, and return for each of one or two buffers 64 bits that depend on every word.

        They depend on where it stands, too. Sizes must be multiples of 4.
        """
        ...

    def pattern_check(self, byte: int) -> PatternCheck:
        """Make ready to look whether memory holds one byte throughout.

        Raises:
            LaunchError: when there is no memory left.
        """
        ...

    def spots(self, places: Array, values: Array, most_seen: int) -> Spots:
        """Make ready to write and read single elements of a tensor.

        Args:
            places: which elements, counted in the tensor's buffer.
            values: rows of what may be written to each of them.
            most_seen: how many elements can be kept until they are collected.

        Raises:
            LaunchError: when there is no memory left.
        """
        ...
