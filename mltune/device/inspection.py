"""Checks a device's memory without copying it: whole patterns, checksums and single elements.

Results stay on the device until they are asked for, because the device idles while the host waits
for an answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

MOST_SPOTS = 64
"""The most elements of a tensor that can be written or kept at once."""


class PatternCheck(Protocol):
    """Whether several ranges of memory contain one byte throughout, with one answer for all."""

    def begin(self) -> None:
        """Reset the answer; returns at once."""
        ...

    def look(self, buffer: Any, first_byte: int, end_byte: int) -> None:
        """Check a range of a buffer, whose ends are multiples of 8; returns at once."""
        ...

    def is_whole(self) -> bool:
        """Wait, and return whether all ranges since `begin` contained nothing else."""
        ...


@dataclass(frozen=True, slots=True)
class Kept:
    """Elements to keep: `count` from place number `start` on, stored from number `first` on."""

    start: int
    count: int
    first: int


@dataclass(frozen=True, slots=True)
class Put:
    """Elements to write: `count` from place number `start` on, with values of a row."""

    start: int
    count: int
    row: int


class Spots(Protocol):
    """Single elements of one tensor, which are written before a launch and read after it."""

    def exchange(self, tensor: Any, keep: Kept | None, then: Kept | Put | None) -> None:
        """Keep some elements, then write or keep others; returns at once.

        A count is at most `MOST_SPOTS`.
        """
        ...

    def seen(self, count: int) -> Array:
        """Wait, and return the first elements that were kept."""
        ...


class Inspection(Protocol):
    """Checks a device's memory; for use by one thread."""

    def checksums(self, *buffers: Any) -> tuple[int, ...]:
        """Wait, and return a checksum of 64 bits for each of one or two buffers.

        It depends on every word and its place. Sizes must be multiples of 4.
        """
        ...

    def pattern_check(self, byte: int) -> PatternCheck:
        """Make an object that checks whether memory contains one byte throughout.

        Raises:
            LaunchError: when there is no memory left.
        """
        ...

    def spots(self, places: Array, values: Array, most_seen: int) -> Spots:
        """Make an object that writes and reads single elements of a tensor.

        Args:
            places: of the elements in the tensor's buffer, counted in elements.
            values: rows of what may be written to each of them.
            most_seen: how many elements can be kept until they are read.

        Raises:
            LaunchError: when there is no memory left.
        """
        ...
