"""Calculating on a device: numbers drawn there, and their product in double precision.

What comes of it is not believed unproved: see `mltune.runner.proof`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
Pairs = tuple[tuple[int, int], ...]

VECTORS = 2
"""With so many vectors `along` multiplies at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrices:
    """A tensor in a buffer, seen as a batch of matrices.

    Attributes:
        dtype: of an element.
        first: the element of the buffer where the tensor begins.
        batch: extent and stride of every index that numbers matrices, the fastest first.
            Likewise for rows and columns; one without any index is one row.
        conjugate: whether the conjugate is meant.
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
        """How many matrices, rows and columns there are."""
        batch, rows, columns = (
            math.prod(extent for extent, _ in pairs)
            for pairs in (self.batch, self.rows, self.columns)
        )
        return batch, rows, columns


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """What goes along the rows of matrices; the axes are matrix and row.

    Attributes:
        products: with each vector, which is the first axis.
        squares: the sum of the elements' squares.
        largest: the largest element's absolute value.
    """

    products: Array
    squares: Array
    largest: Array


class Calculator(Protocol):
    """Calculates with tensors of one type."""

    def draw(self, tensor: Matrices, key: int | None) -> None:
        """Write the numbers of a stream to a tensor's elements, as `runner.generator` has them.

        Args:
            tensor: of rows alone, the index with number 0 first.
            key: of the stream; None for NaN.
        """
        ...

    def look(self, tensor: Matrices, numbers: Array) -> Array:
        """Return single elements, by their numbers among the rows; in double precision."""
        ...

    def along(self, matrices: Matrices, vectors: Array) -> Sums:
        """Return what goes along every row of every matrix, in double precision.

        Args:
            matrices: what is summed up.
            vectors: the axes are vector, matrix (or 1, where all have the same), and column.

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
            c: like the result; not read where beta is 0.
            right: where to; of double precision.
            alpha: the factor of the product.
            beta: the factor of `c`.

        Raises:
            BuildError: when the device cannot after all.
            LaunchError: when there is no memory left.
        """
        ...
