"""Calculates on a device: draws numbers, and multiplies them in double precision.

The results are not trusted without a proof: see `mltune.runner.proof`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
Pairs = tuple[tuple[int, int], ...]

VECTORS = 2
"""The number of vectors that `along` multiplies by at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrices:
    """A tensor in a buffer, seen as a batch of matrices.

    Attributes:
        dtype: of an element.
        first: the tensor's first element in the buffer.
        batch: extent and stride of every batch index, the fastest first. Likewise for rows and
            columns; without an index there is one row or column.
        conjugate: whether the elements are conjugated.
    """

    buffer: Any
    dtype: str
    first: int
    batch: Pairs = ()
    rows: Pairs = ()
    columns: Pairs = ()
    conjugate: bool = False

    @property
    def counts(self) -> tuple[int, int, int]:
        """The numbers of matrices, rows and columns."""
        batch, rows, columns = (
            math.prod(extent for extent, _ in pairs)
            for pairs in (self.batch, self.rows, self.columns)
        )
        return batch, rows, columns


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Sums over the rows of matrices; the axes are matrix and row.

    Attributes:
        products: with each vector, which is the first axis.
        squares: the sums of the elements' squares.
        largest: the largest absolute value of an element.
    """

    products: Array
    squares: Array
    largest: Array


class Calculator(Protocol):
    """Calculates with tensors of one type."""

    def draw(self, tensor: Matrices, key: int | None) -> None:
        """Write the numbers of a stream to a tensor's elements, as `runner.generator` does.

        Args:
            tensor: of rows alone, the index with number 0 first.
            key: of the stream; None for NaN.
        """
        ...

    def look(self, tensor: Matrices, numbers: Array) -> Array:
        """Return single elements in double precision, by their numbers among the rows."""
        ...

    def along(self, matrices: Matrices, vectors: Array) -> Sums:
        """Return the sums over every row of every matrix, in double precision.

        Args:
            matrices: that are summed up.
            vectors: the axes are vector, matrix (or 1 if all use the same), and column.

        Raises:
            LaunchError: when there is no memory left.
        """
        ...

    def multiply(
        self,
        a: Matrices,
        b: Matrices,
        c: Matrices,
        right: Matrices,
        alpha: complex,
        beta: complex,
    ) -> None:
        """Calculate `right = alpha * a * b^T + beta * c` of each matrix.

        Args:
            a: rows are those of the result, columns the terms of its sums.
            b: rows are the columns of the result, columns the terms of its sums.
            c: like the result; not read if beta is 0.
            right: takes the result, in double precision.
            alpha: the factor of the product.
            beta: the factor of `c`.

        Raises:
            BuildError: when the driver cannot build the kernels.
            LaunchError: when there is no memory left.
        """
        ...
