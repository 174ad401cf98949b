"""Comparing a large result with its reference, every element of it.

Reading 64 MB back and comparing them on the host takes ten times as long as the kernel that made
them. What this finds right is right; what it finds wrong the host looks at again, to say what.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """A right result, and how far an element may be off: `norms_a * norms_b + constant`.

    Attributes:
        dtype: of the result.
        first: the element of the result's buffer where it begins.
        length: elements of the whole buffer.
        dims: for every index, the one with the shortest stride first: extent, stride in the
            result, stride in `norms_a` and in `norms_b`.
        count: elements of the result.
        values: float64 or complex128, the first index running fastest; likewise the norms. They
            are arrays, or buffers where they lie on the device already.
        pattern: the byte that fills the buffer where nothing has been written.
    """

    dtype: str
    first: int
    length: int
    dims: tuple[tuple[int, int, int, int], ...]
    count: int
    values: Any
    norms_a: Any
    norms_b: Any
    constant: float
    pattern: int

    @property
    def value_bytes(self) -> int:
        """Bytes of `values`."""
        return self.count * (16 if np.dtype(self.dtype).kind == "c" else 8)


@dataclass(frozen=True, slots=True)
class Difference:
    """What a comparison found.

    Attributes:
        wrong: elements that are further off than they may be.
        written_outside: whether memory around and between the elements was written to.
        place: which element is furthest off, in the order of memory.
        error: how far.
    """

    wrong: int
    written_outside: bool
    place: int
    error: float


class Comparison(Protocol):
    """A right result in the memory of a device, to compare others with."""

    def run(self, result: Any) -> Difference:
        """Compare a result in a buffer, which is left as it is.

        Raises:
            DeviceLostError: when the device fails.
        """
        ...
