"""A problem's tensors as batches of matrices, on the device and in their streams of numbers.

In batch, rows and columns the first of several indices is the fastest.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mltune.device import Buffer, Matrices
from mltune.problem import Problem, packed
from mltune.runner.data import Array, Layout
from mltune.runner.generator import drawn_at, key_of
from mltune.runner.operand import Operand


def elements(problem: Problem, tensor: str, buffer: Buffer, first_byte: int) -> Matrices:
    """View a tensor as one long row of elements, in the order of their numbers.

    Args:
        problem: of the tensor.
        tensor: `a`, `b` or `c`.
        buffer: that contains it.
        first_byte: of its guarded matrix there.
    """
    layout = Layout.of(problem, tensor)
    return Matrices(
        buffer=buffer,
        dtype=layout.dtype,
        first=first_byte // np.dtype(layout.dtype).itemsize + layout.guard + layout.offset,
        rows=_merged(zip(layout.extents, layout.strides, strict=True)),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Views:
    """The matrices of a problem on a device.

    Attributes:
        a: rows of C by terms of the sums.
        b: columns of C by terms.
        b_turned: terms by columns of C.
        c: rows by columns, before the product.
        right: the same of the product, in double precision.
        result: its elements in the order of memory.
    """

    a: Matrices
    b: Matrices
    b_turned: Matrices
    c: Matrices
    right: Matrices
    result: Matrices

    @classmethod
    def of(cls, problem: Problem, a: Operand, b: Operand, c: Buffer, right: Buffer) -> Views:
        """View the tensors in these buffers."""
        contraction = problem.contraction
        rows, columns = contraction.free_indices_a, contraction.free_indices_b
        terms = contraction.summation_indices

        def view(
            tensor: str, whole: Matrices, steps: Sequence[int], *groups: Sequence[int]
        ) -> Matrices:
            step = dict(zip(contraction.indices(tensor), steps, strict=True))
            batch, rows, columns = (
                _merged((problem.sizes[index], step[index]) for index in group)
                for group in (contraction.batch_indices, *groups)
            )
            return Matrices(
                buffer=whole.buffer,
                dtype=whole.dtype,
                first=whole.first,
                batch=batch,
                rows=rows,
                columns=columns,
                conjugate=contraction.conjugates(tensor),
            )

        whole_a, whole_b = (
            elements(problem, tensor, operand.whole, operand.first_byte)
            for tensor, operand in (("a", a), ("b", b))
        )
        wide = "complex128" if contraction.precision.is_complex else "float64"
        count = problem.m * problem.n * problem.batch
        result = Matrices(buffer=right, dtype=wide, first=0, rows=((count, 1),))
        return cls(
            a=view("a", whole_a, problem.strides_a, rows, terms),
            b=view("b", whole_b, problem.strides_b, columns, terms),
            b_turned=view("b", whole_b, problem.strides_b, terms, columns),
            c=view("c", elements(problem, "c", c, 0), problem.strides_c, rows, columns),
            right=view("c", result, packed(problem.extents("c")), rows, columns),
            result=result,
        )


class Stream:
    """The numbers of one tensor, which the host can draw again one by one."""

    def __init__(self, problem: Problem, seed: int, tensor: str) -> None:
        self._sizes = problem.sizes
        self._key = key_of(problem, seed, tensor)
        self._dtype = problem.contraction.precision.dtype
        self._wide = np.complex128 if problem.contraction.precision.is_complex else np.float64
        self._conjugate = problem.contraction.conjugates(tensor)
        steps = packed(problem.extents(tensor))
        self._steps = dict(zip(problem.contraction.indices(tensor), steps, strict=True))

    def place(self, indices: Sequence[int], number: Any) -> Any:
        """Return the distance of elements for a step of a group of indices, numbered as one."""
        found = 0 * number  # of the number's shape, also for a group without indices
        for index in indices:
            number, at = np.divmod(number, self._sizes[index])
            found = found + at * self._steps[index]
        return found

    def numbers(self, place: Any, *groups: Sequence[int]) -> list[Any]:
        """Split an element's place into one number for each group of indices."""
        numbers = []
        for group in groups:
            number = 0 * place
            for index in reversed(group):
                at = place // self._steps[index] % self._sizes[index]
                number = number * self._sizes[index] + at
            numbers.append(number)
        return numbers

    def places(self, indices: Sequence[int]) -> Array:
        """Return the places of all numbers of a group."""
        found = np.zeros(1, np.int64)
        for index in indices:
            steps = np.arange(self._sizes[index]) * self._steps[index]
            found = np.add.outer(steps, found).ravel()
        return found

    def at(self, places: Array) -> Array:
        """Return numbers in double precision, as they are used in the product."""
        numbers = drawn_at(self._key, self._dtype, places).astype(self._wide)
        return numbers.conj() if self._conjugate else numbers


def _merged(pairs: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Merge indices that follow each other in memory, which saves divisions."""
    merged: list[tuple[int, int]] = []
    for extent, stride in pairs:
        if merged and merged[-1][0] * merged[-1][1] == stride:
            merged[-1] = merged[-1][0] * extent, merged[-1][1]
        elif extent > 1:
            merged.append((extent, stride))
    return tuple(merged)
