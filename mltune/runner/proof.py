"""Proves a product that a device calculated, with a small part of the product's own work.

Freivalds, "Probabilistic machines can use less running time" (1977): C = A B is checked by
C x = A (B x), for random vectors x. The device multiplies the vectors, by another kernel, from the
operands as they lie in memory; the host compares all numbers of both sides. What the host believes
of this it has seen itself: some elements of each side, of C and of the norms are calculated on the
host from numbers that are drawn again there.

A row of both sides may differ by rounding, which for random numbers is a random walk: by
`tolerance = 64 u (|alpha| ||a|| ||B|| (1 + sqrt(n/k)) + |beta| sqrt(n) ||c||)`, with the norms of
its rows, the Frobenius norm of B, and u = 2^-53. Were an element of C wrong by e, the difference
would have to fall into an interval of 2 * tolerance although one number that is uniform in [-1, 1)
moves it by e: for one vector that happens with a probability of at most tolerance / |e|, for both
with its square. For single precision at 8192 x 8192 x 8192, what the check of a kernel's result
allows for is 10^6 times the tolerance.
"""

from __future__ import annotations

import math

import numpy as np

from mltune.device import VECTORS, BuildError, Calculator, Device, Sums
from mltune.errors import MltuneError
from mltune.problem import Problem
from mltune.runner.data import Array
from mltune.runner.matrices import Stream, Views
from mltune.runner.validation import Bounds, scalars

_FACTOR = 64
_ROUNDOFF = 2.0**-53
_DRAWN_AGAIN = 1 << 18  # numbers of A and B, for single elements of C
_MOST_ELEMENTS = 16
_TERMS = 2  # number of checked elements of B x
_NORM_SLACK = 1 << 10  # squares have no signs, so their rounding errors grow faster


class ProofError(MltuneError):
    """The product is wrong, or cannot be proved."""


def prove(
    device: Device, problem: Problem, seed: int, views: Views, largest_bias: float = 0.0
) -> Bounds:
    """Check that a product is right; return the bounds of other results' errors.

    Args:
        device: that calculated it.
        problem: that was calculated.
        seed: of its numbers.
        views: of the operands, and of the product before an epilogue.
        largest_bias: the largest absolute value in the bias, for the bounds.

    Raises:
        ProofError: when it is wrong, or was made of other numbers.
        DeviceLostError: when the device fails.
    """
    alpha, beta = scalars(problem)
    chosen = np.random.default_rng()
    x = chosen.uniform(-1, 1, (VECTORS, 1, views.b.counts[1]))
    numbers, wide = (calculator_of(device, each.dtype) for each in (views.a, views.right))
    along_b = numbers.along(views.b_turned, x)
    y = along_b.products
    columns = numbers.along(views.b, y).squares
    along_a = numbers.along(views.a, y)
    left = wide.along(views.right, x).products
    right, of_c, largest = alpha * along_a.products, np.zeros(1), 0.0
    if beta != 0:
        along_c = numbers.along(views.c, x)
        right = right + beta * along_c.products
        of_c, largest = along_c.squares, float(along_c.largest.max())
    k, n = views.a.counts[2], views.b.counts[1]
    whole_b = np.sqrt(along_b.squares.sum(axis=-1))[:, None]
    rounding = abs(alpha) * np.sqrt(along_a.squares) * whole_b * (1 + math.sqrt(n / k))
    rounding = rounding + abs(beta) * math.sqrt(n) * np.sqrt(of_c)
    if not (np.abs(left - right) <= _FACTOR * _ROUNDOFF * rounding).all():
        raise ProofError(f"{problem.label}: the reference is not the product")
    samples = _Samples(problem, seed, chosen)
    samples.check_terms(x, y)
    places = samples.elements()
    samples.check_elements(wide.look(views.result, places), places, y, along_a, columns)
    return Bounds.of(problem, along_a.squares, columns, largest, largest_bias)


def calculator_of(device: Device, dtype: str) -> Calculator:
    """Return a device's calculator for tensors of a type.

    Raises:
        BuildError: when the device has none.
    """
    calculator = device.calculator(dtype)
    if calculator is None:
        raise BuildError(f"{device.info.name} does not calculate with {dtype}")
    return calculator


class _Samples:
    """Elements that the host calculates itself."""

    def __init__(self, problem: Problem, seed: int, chosen: np.random.Generator) -> None:
        self._problem, self._chosen = problem, chosen
        self._a, self._b, self._c = (Stream(problem, seed, tensor) for tensor in "abc")
        contraction = problem.contraction
        self._batch = contraction.batch_indices
        self._rows, self._columns = contraction.free_indices_a, contraction.free_indices_b
        self._terms = contraction.summation_indices

    def check_terms(self, x: Array, y: Array) -> None:
        """Compare elements of B x with the host's."""
        columns = self._b.places(self._columns)
        for batch, term in self._drawn(_TERMS, y.shape[1:]):
            at = self._b.place(self._batch, batch) + self._b.place(self._terms, term)
            row = self._b.at(at + columns)
            norms = np.linalg.norm(row) * np.linalg.norm(x[:, 0], axis=-1)
            self._hold(y[:, batch, term], x[:, 0] @ row, norms, "a product with a vector")

    def elements(self) -> Array:
        """Draw elements of C, by their places in memory."""
        problem = self._problem
        count = min(max(_DRAWN_AGAIN // (2 * problem.k), 1), _MOST_ELEMENTS)
        return self._chosen.integers(problem.batch * problem.m * problem.n, size=count)

    def check_elements(
        self, found: Array, places: Array, y: Array, along_a: Sums, squares_b: Array
    ) -> None:
        """Compare elements of C, of A y and of the squares of the norms with the host's."""
        alpha, beta = scalars(self._problem)
        batch, row, column = self._c.numbers(places, self._batch, self._rows, self._columns)
        a, b = (
            stream.at(
                np.add.outer(
                    stream.place(self._batch, batch) + stream.place(free, number),
                    stream.places(self._terms),
                )
            )
            for stream, free, number in (
                (self._a, self._rows, row),
                (self._b, self._columns, column),
            )
        )
        norms_a, norms_b = (np.linalg.norm(each, axis=-1) for each in (a, b))
        right, scale = alpha * _dot(a, b), abs(alpha) * norms_a * norms_b
        if beta != 0:
            before = beta * self._c.at(places)
            right, scale = right + before, scale + np.abs(before)
        self._hold(found, right, scale, "an element")
        for vector, products in zip(y, along_a.products, strict=True):
            norms = norms_a * np.linalg.norm(vector[batch], axis=-1)
            self._hold(
                products[batch, row], _dot(a, vector[batch]), norms, "a product with a vector"
            )
        self._hold_norms(along_a.squares[batch, row], norms_a)
        self._hold_norms(squares_b[batch, column], norms_b)

    def _hold_norms(self, squares: Array, norms: Array) -> None:
        self._hold(squares, norms**2, _NORM_SLACK * norms**2, "a norm")

    def _drawn(self, count: int, shape: tuple[int, ...]) -> list[tuple[int, ...]]:
        return [tuple(int(self._chosen.integers(side)) for side in shape) for _ in range(count)]

    def _hold(self, found: Array, right: Array, scale: Array, what: str) -> None:
        if not (np.abs(found - right) <= _FACTOR * _ROUNDOFF * scale).all():
            raise ProofError(
                f"{self._problem.label}: {what} of the reference is not what the host calculates"
            )


def _dot(a: Array, b: Array) -> Array:
    """Return the sums of the products along each row."""
    sums: Array = np.einsum("ek,ek->e", a, b)
    return sums
