"""Compares a large result with its reference, every element of it.

Reading 64 MB back and comparing them on the host takes ten times as long as the kernel. A result
that this comparison finds right is right; wrong elements are checked again on the host, for the
message.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """A right result, and the bound on an element's error: `norms_a * norms_b + constant`.

    Attributes:
        dtype: of the result.
        first: the result's first element in its buffer.
        length: elements of the whole buffer.
        dims: for every index, the one with the shortest stride first: extent, stride in the
            result, stride in `norms_a` and in `norms_b`.
        count: elements of the result.
        values: float64 or complex128, the first index running fastest; likewise the norms. They
            are arrays, or buffers if they are on the device already.
        pattern: the byte that fills the buffer outside the result.
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
    """The result of a comparison.

    Attributes:
        wrong: number of elements whose error exceeds the bound.
        written_outside: whether memory around and between the elements was written to.
        place: of the element with the largest error, in the order of memory.
        error: of that element.
    """

    wrong: int
    written_outside: bool
    place: int
    error: float


class Comparison(Protocol):
    """A right result in a device's memory, to compare others with."""

    def run(self, result: Any) -> Difference:
        """Compare a result in a buffer, without changing it.

        Raises:
            DeviceLostError: when the device fails.
        """
        ...
