"""Is the whole result right? Every element is compared with a float64 reference.

The bound of an element grows with the length of the sum and with the numbers in it:

    (min(k, 16) + 4) u (|alpha| ||a|| ||b|| + |beta| max|c|)

where a and b are the element's row of A and column of B, ||.|| is the Euclidean norm and u the
unit roundoff of the precision (twice that for complex numbers). Up to 16 terms this is the
rigorous bound of Higham, "Accuracy and Stability of Numerical Algorithms", section 3.1, because
|a|.|b| <= ||a|| ||b||. For longer sums the rounding errors of random data are a random walk of
standard deviation 0.4 u ||a|| ||b||, where the rigorous bound would grow to be so wide that a
missing term could hide in it; 20 u ||a|| ||b|| is never reached by rounding, and is about 1.5e-3
for single precision at k = 4096, where a term is 0.25 on average.

Half's u is so large that this would hide a missing term at k = 64 already. There the first 4 terms
count, which is 8 u ||a|| ||b||: kernels that add in single, as all that are generated do, stay
below 1 u, and ones that add term after term in half stayed below 3.9 u in ten million elements of
sums of 2 to 1024 terms.

With a compute type, elements are rounded by up to v of their own before. Up to 9 terms the bound
grows by 2 v |alpha| ||a|| ||b||, which is rigorous; beyond, by 3 / sqrt(k) times as much. These
errors are a random walk, too: independent from term to term, of standard deviation
0.58 v ||a|| ||b|| / sqrt(k). Of 3 million elements each, of uniform and of normal numbers and of
sums of 10 to 512 terms, none had 0.75 of that bound, and a missing term stays visible up to
k = 1000 for bfloat16, and far beyond for the others.

With an epilogue, `runner.epilogue` has the error of an activation; a bias counts like c.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from mltune.problem import Precision, Problem
from mltune.runner.data import Array, Layout, Operands, bias_of, untouched_outside
from mltune.runner.epilogue import finished, own_rounding, slope

RIGOROUS_TERMS = 16
_RIGOROUS_TERMS_OF_HALF = 4
_RIGOROUS_TERMS_OF_ELEMENTS = 9  # whose rounding a compute type allows
_BLOCK_ELEMENTS = 1 << 16  # fits into a core's cache with its temporaries
_BLOCKS_WORTH_THREADS = 4
_MOST_THREADS = 16


@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    """The bound of each element's error: `norms_a * norms_b + constant`; axes are C's indices.

    Attributes:
        shape: of C.
        norms_a: factor of the bound along A's indices, with extent 1 along the others.
        norms_b: the same for B.
        constant: the part of the bound that does not depend on the element.
        relative: the bound for each unit of |beta| |c|.
    """

    shape: tuple[int, ...]
    norms_a: Array
    norms_b: Array
    constant: float
    relative: float

    @classmethod
    def of(
        cls,
        problem: Problem,
        squares_a: Array,
        squares_b: Array,
        largest_c: float,
        largest_bias: float = 0.0,
    ) -> Bounds:
        """Return the bounds.

        Args:
            problem: to compute.
            squares_a: sums of the squares of A's rows; the axes are batch and row, numbered with
                the first index as the fastest.
            squares_b: of B's columns, likewise.
            largest_c: the largest absolute value in C before the product; 0 if beta is.
            largest_bias: the largest absolute value in the bias; 0 without one.
        """
        contraction = problem.contraction
        batch, free_a, free_b = (
            indices[::-1]
            for indices in (
                contraction.batch_indices,
                contraction.free_indices_a,
                contraction.free_indices_b,
            )
        )
        limits = np.finfo(contraction.precision.dtype)
        parts = 2 if contraction.precision.is_complex else 1
        roundoff = parts * float(limits.eps) / 2
        is_half = contraction.precision is Precision.HALF
        terms = min(problem.k, _RIGOROUS_TERMS_OF_HALF if is_half else RIGOROUS_TERMS)
        additions = terms + 4 + ("bias" in problem.tensors)
        gamma = slope(problem) * additions * roundoff + own_rounding(problem)
        # Below the smallest number there is no relative accuracy; for half that is 6e-8.
        underflow = (problem.k + 2) * parts * float(limits.smallest_subnormal)
        alpha, beta = (abs(each) for each in scalars(problem))
        # Elements are multiples of 2^-23, which half has below its normal numbers, too.
        rounded = min(1.0, math.sqrt(_RIGOROUS_TERMS_OF_ELEMENTS / problem.k))
        rounded *= slope(problem) * contraction.compute.product_error
        norms_a = (gamma + rounded) * alpha * np.sqrt(squares_a)
        return cls(
            shape=Layout.of(problem, "c").extents,
            norms_a=_in_c_order(norms_a, (*batch, *free_a), problem),
            norms_b=_in_c_order(np.sqrt(squares_b), (*batch, *free_b), problem),
            constant=gamma * (beta * largest_c + largest_bias) + underflow,
            relative=gamma,
        )

    def at(self, place: Any) -> Any:
        """Return the bounds of elements, counted in the order of memory."""
        where = np.unravel_index(place, self.shape, order="F")
        norm_a = np.broadcast_to(self.norms_a, self.shape)[where]
        norm_b = np.broadcast_to(self.norms_b, self.shape)[where]
        return norm_a * norm_b + self.constant


class RightResult(Protocol):
    """A right result, in any memory."""

    @property
    def bounds(self) -> Bounds:
        """The bounds of other results' errors."""
        ...

    @property
    def values(self) -> Array:
        """All values, in float64 or complex128; the axes are C's indices."""
        ...

    def at(self, places: Array) -> Array:
        """Return single elements, counted in the order of memory."""
        ...

    def untouched(self) -> bool:
        """Whether no kernel has written to it."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """A right result in the host's memory."""

    values: Array
    bounds: Bounds

    def at(self, places: Array) -> Array:
        """Return single elements, counted in the order of memory."""
        found: Array = self.values[np.unravel_index(places, self.values.shape, order="F")]
        return found

    def untouched(self) -> bool:
        """Return True, as no kernel can write to it."""
        return True


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of checking one result.

    Attributes:
        fault: why the result is wrong, in one line; empty if it is right.
        max_error: the largest |computed - reference|; None if the result has a NaN.
        error_bound: the bound of that element.
    """

    fault: str
    max_error: float | None
    error_bound: float | None


def reference(problem: Problem, data: Operands) -> Reference:
    """Compute the product in double precision, from the numbers as they are stored."""
    contraction = problem.contraction
    wide = np.complex128 if contraction.precision.is_complex else np.float64
    batch, free_a, free_b, summed = (
        indices[::-1]  # the fastest last, as in numpy
        for indices in (
            contraction.batch_indices,
            contraction.free_indices_a,
            contraction.free_indices_b,
            contraction.summation_indices,
        )
    )

    def matrices(tensor: str, buffer: Array, rows: Sequence[int], columns: Sequence[int]) -> Array:
        assigned = contraction.indices(tensor)
        view = Layout.of(problem, tensor).elements(buffer)
        order = [assigned.index(index) for index in (*batch, *rows, *columns)]
        shape = [math.prod(problem.sizes[i] for i in group) for group in (batch, rows, columns)]
        matrix = view.transpose(order).astype(wide).reshape(shape)
        return matrix.conj() if contraction.conjugates(tensor) else matrix

    # C transposed, B^T A^T, is in memory order when C's first index is A's.
    b = matrices("b", data.b, free_b, summed)
    a = matrices("a", data.a, summed, free_a)
    alpha, beta = scalars(problem)
    values = np.matmul(b, a)
    values *= alpha
    values = _in_c_order(values, (*batch, *free_b, *free_a), problem)
    largest_c = 0.0
    if problem.beta != 0:
        c = Layout.of(problem, "c").elements(data.c).astype(wide)
        values += beta * c
        largest_c = float(np.abs(c).max())
    squares_a, squares_b = (np.abs(a) ** 2).sum(axis=1), (np.abs(b) ** 2).sum(axis=2)
    bias = bias_of(problem, data.bias)
    largest_bias = float(np.abs(bias).max(initial=0))
    bounds = Bounds.of(problem, squares_a, squares_b, largest_c, largest_bias)
    return Reference(finished(problem, values, bias), bounds)


def scalars(problem: Problem) -> tuple[complex, complex]:
    """Return alpha and beta as kernels get them: rounded to the precision."""
    wide = np.complex128 if problem.contraction.precision.is_complex else np.float64
    scalar = np.dtype(problem.contraction.precision.dtype).type
    alpha, beta = (wide(scalar(value)) for value in (problem.alpha, problem.beta))
    return alpha, beta


def check(computed: Array, layout: Layout, right: RightResult) -> Verdict:
    """Compare C's whole guarded buffer with the reference; the buffer is overwritten.

    Args:
        computed: the contents of C's buffer.
        layout: of C in it.
        right: the reference.
    """
    bounds, expected = right.bounds, right.values.T  # transposed: memory order
    shape = expected.shape
    sides = (
        layout.elements(computed).T,
        expected,
        np.broadcast_to(bounds.norms_a.T, shape),
        np.broadcast_to(bounds.norms_b.T, shape),
    )
    blocks = tuple(_blocks(shape))
    compare = partial(_compare, *sides, bounds.constant)
    if len(blocks) < _BLOCKS_WORTH_THREADS:
        seen = [compare(block) for block in blocks]
    else:
        with ThreadPoolExecutor(min(os.cpu_count() or 1, _MOST_THREADS)) as threads:
            seen = list(threads.map(compare, blocks))
    wrong = sum(each.wrong for each in seen)
    fault = next((each.fault for each in seen if each.fault), "")
    if fault:
        fault = f"{wrong} of {expected.size} elements are wrong: {fault}"
    if not untouched_outside(computed, layout):
        fault = fault or "memory outside of C's elements was written"
    worst = max(seen, key=lambda each: each.max_error, default=_Seen())
    if any(each.has_nan for each in seen) or not math.isfinite(worst.max_error):
        return Verdict(fault, None, None)
    return Verdict(fault, worst.max_error, worst.bound_there)


@dataclass(frozen=True, slots=True)
class _Seen:
    """The comparison of one block."""

    wrong: int = 0
    fault: str = ""
    max_error: float = -1.0
    bound_there: float = 0.0
    has_nan: bool = False


def _compare(
    found: Array,
    expected: Array,
    norms_a: Array,
    norms_b: Array,
    constant: float,
    block: tuple[slice, ...],
) -> _Seen:
    with np.errstate(invalid="ignore"):  # an infinity or a NaN is found below
        error = np.abs(found[block] - expected[block])
    bound = norms_a[block] * norms_b[block]
    bound += constant
    bad = ~(error <= bound)  # true also for a NaN
    worst = np.unravel_index(int(error.argmax()), error.shape)  # a NaN counts as the largest
    fault = ""
    if bad.any():
        first = np.unravel_index(int(bad.argmax()), bad.shape)
        where = tuple(
            int(inner) + (outer.start or 0) for inner, outer in zip(first, block, strict=True)
        )
        fault = (
            f"C{list(where[::-1])} is {found[block][first]:.9g}, expected "
            f"{expected[block][first]:.9g} within {bound[first]:.2g}"
        )
    largest = float(error[worst])
    return _Seen(
        wrong=int(bad.sum()),
        fault=fault,
        max_error=-1.0 if math.isnan(largest) else largest,
        bound_there=float(bound[worst]),
        has_nan=math.isnan(largest),
    )


def _in_c_order(values: Array, indices: tuple[int, ...], problem: Problem) -> Array:
    """Unfold axes that were merged, sort them by index, and use extent 1 for missing axes."""
    unfolded = values.reshape([problem.sizes[index] for index in indices])
    sorted_axes = unfolded.transpose(np.argsort(indices, kind="stable"))
    return sorted_axes.reshape(
        [
            problem.sizes[index] if index in indices else 1
            for index in range(problem.contraction.num_indices_c)
        ]
        or [1]
    )


def _blocks(shape: tuple[int, ...]) -> Iterator[tuple[slice, ...]]:
    """Cut an array into pieces of about _BLOCK_ELEMENTS along its first axes."""
    if len(shape) == 0 or math.prod(shape) <= _BLOCK_ELEMENTS:
        yield (slice(None),) * len(shape)
        return
    rest = math.prod(shape[1:])
    step = max(1, _BLOCK_ELEMENTS // rest)
    for start in range(0, shape[0], step):
        along = slice(start, min(start + step, shape[0]))
        if rest > _BLOCK_ELEMENTS:
            for inner in _blocks(shape[1:]):
                yield (along, *inner)
        else:
            yield (along, *(slice(None),) * (len(shape) - 1))
