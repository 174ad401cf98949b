"""The residuals of time formulas, learned by a Gaussian process over sizes.

A formula counts tiles, waves and steps. Effects that it does not know, such as the placement of
rows in memory, change slowly with the size, but for two: whether all matrices stay in a cache from
launch to launch, and how wide the widest access is that suits all rows.

Kernels with similar configs have similar residuals, so a kernel that was timed on few sizes learns
from those that were timed on others (the intrinsic coregionalization model: Alvarez, Rosasco and
Lawrence, "Kernels for vector-valued functions", 2012, section 4.2). The covariance of two times is
that of their sizes times that of their kernels.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mltune.distil.fit import Settings

Array = NDArray[np.float64]

_Group = tuple[NDArray[np.intp], NDArray[np.intp], Array]

REACH = 4.0
"""The length scale: sizes with so many doublings of an extent between them correlate by 0.48."""

ODD, ALIGNMENT = 1 / 3, 1 / 18
"""Distances between alignments: of a size without whole vectors, and of each factor of two."""

WORST = 0.3
"""Distance between two alignments of the matrix with the narrowest accesses, for each factor of 2.
"""

CAPACITIES = (2.0**20, 2.0**21, 2.0**22, 2.0**23, 2.0**24, 2.0**25)
"""Candidates for the elements that a cache holds; left-out times choose one, or none.

In every fold of splits 100 to 105 they chose 32 MiB for sgemm NT, dgemm and four runs of an H200
(which has 50) and 64 MiB for hgemm; on PoCL none in 23 of 24 folds.
"""

MISSES = 0.5
"""Distance between footprints of one and two times the capacity, or of one and half of it.

With 0.8, and with 0.6 for `WORST`, results on splits 100 to 103 of six runs were within 0.03 %.
"""

NOISES = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 12.8)
"""Candidates for variance of noise / variance of residuals; left-out times choose.

Length scale and distances were chosen on splits 100 and 101 of five shipped runs; length scales of
2, 4 and 8 were within 0.1 % of each other.
"""

_DOUBLINGS = 3
"""The power of a norm, 2 to this, that stands for the largest covariance, and is a product of
matrices. By it, many sizes are nearer than one.
"""

_ALIGNED = 8
"""In elements; no access is wider."""

_SOLVED, _MOST_STEPS = 1e-4, 400
"""When conjugate gradients end: the share of the residuals that is left, or the steps."""

_ROWS = 512
"""Sizes predicted at a time: their covariances with 400 known sizes fit into a cache."""


_KINDS = np.array(list(product((0, 1), (0, 1), (0, 1), *[range(_ALIGNED.bit_length())] * 3)))
"""Kinds of alignment: which of m, n and k are not whole vectors, and how often 2 divides each."""

_LEVELS = _KINDS[:, 3:]

_RADIX = np.array([4 * 2**6, 2 * 2**6, 2**6, 16, 4, 1])
"""Converts a kind to its number."""


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """The coordinates of sizes; near sizes have similar residuals.

    Attributes:
        smooth: three axes, a row for each size.
        kinds: of alignment, as numbers; a table has the covariance of each two of them.
        misses: where the footprint lies between half the capacity of a cache and twice that.
    """

    smooth: Array
    kinds: NDArray[np.intp]
    shared: Array
    misses: Array

    @classmethod
    def of(cls, sizes: Array, settings: Settings, capacity: float | None = None) -> Places:
        """Return the places of m, n, k and batch, a row each.

        Args:
            sizes: m, n, k and batch.
            settings: say which sizes are whole vectors.
            capacity: elements that a cache holds; None for no cache.
        """
        extents = sizes[:, :3]
        is_odd = extents % np.array(settings.multiples) > 0
        aligned = alignments(sizes, _ALIGNED).astype(np.intp)
        smooth = np.log2(extents) * (math.sqrt(3.0) / REACH)
        kinds = np.hstack([is_odd, aligned]) @ _RADIX
        misses = np.zeros(len(sizes))
        if capacity is not None:
            misses = MISSES * np.clip(np.log2(footprint(sizes) / capacity), -1.0, 1.0)
        return cls(smooth, kinds, _shared(settings.multiples), misses)

    def take(self, rows: slice) -> Places:
        """The places of some of the sizes."""
        return Places(self.smooth[rows], self.kinds[rows], self.shared, self.misses[rows])

    def as_type(self, number: type[np.floating[Any]]) -> Places:
        """The same in another precision."""
        return Places(
            self.smooth.astype(number),
            self.kinds,
            self.shared.astype(number),
            self.misses.astype(number),
        )

    def covariance(self, others: Places) -> Array:
        """Return Matern 3/2 over the extents times exponential covariances of the others."""
        apart = np.zeros((len(self.smooth), len(others.smooth)), dtype=self.smooth.dtype)
        found = np.empty_like(apart)
        for mine, theirs in zip(*(each.smooth.T.copy() for each in (self, others)), strict=True):
            np.subtract(mine[:, None], theirs, out=found)
            found *= found
            apart += found
        np.sqrt(apart, out=apart)
        np.subtract(self.misses[:, None], others.misses, out=found)
        np.abs(found, out=found)
        found += apart
        np.exp(-found, out=found)
        apart += 1.0
        found *= apart
        # `take` copies in half the time of an index.
        found *= self.shared.take(others.kinds, axis=1).take(self.kinds, axis=0)
        return found


def footprint(sizes: Array) -> Array:
    """Return the elements of all three matrices."""
    m, n, k, batch = sizes.T
    return np.asarray((m * k + k * n + m * n) * batch)


@lru_cache(maxsize=8)
def _shared(multiples: tuple[int, int, int]) -> Array:
    """Return the covariance of each two kinds of alignment."""
    weights = np.array([ODD] * 3 + [ALIGNMENT] * 3)
    apart = np.abs(_KINDS[:, None, :] - _KINDS[None, :, :]) @ weights
    worst = _worst(_LEVELS, multiples)
    return np.asarray(np.exp(-apart - WORST * np.abs(np.subtract.outer(worst, worst))))


def alignments(sizes: Array, most: int) -> Array:
    """Return how often 2 divides m, n and k; `most` is a power of 2 that counts at most."""
    return np.asarray(np.log2(np.gcd(sizes[:, :3].astype(np.int64), most)))


def worst_alignment(sizes: Array, multiples: tuple[int, int, int]) -> Array:
    """Return how often 2 divides the narrowest access that suits the rows of all matrices."""
    return _worst(alignments(sizes, _ALIGNED), multiples)


def _worst(levels: Array, multiples: tuple[int, int, int]) -> Array:
    along = [axis for axis, multiple in enumerate(multiples) if multiple > 1]
    if not along:
        return np.zeros(len(levels))
    whole = np.log2([multiples[axis] for axis in along])
    return np.asarray(np.minimum(levels[:, along], whole).min(axis=1), dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Residuals:
    """Predicts the log of measured time / formula's time.

    Attributes:
        known: places of the measured sizes, a row each.
        pulls: the weight of each measured size (rows) for each kernel (columns).
        groups: kernels that were timed on the same sizes: which sizes, and the inverse of their
            covariances.
        scale: variance of the residuals.
        error: sum of squared errors when each known residual is predicted from the others.
        noise: variance of noise / variance of residuals.
        capacity: elements that a cache holds; None if no cache shows.
    """

    known: Places
    pulls: Array
    groups: tuple[_Group, ...]
    scale: Array
    error: float
    noise: float
    capacity: float | None
    settings: Settings

    @classmethod
    def learn(cls, sizes: Array, residuals: Array, settings: Settings) -> Residuals:
        """Learn from measured times, each kernel from its own.

        Args:
            sizes: m, n, k and batch, a row each.
            residuals: log of measured time / formula's time by size and kernel; nan where unknown.
            settings: say which sizes are whole vectors.
        """

        def best_of(capacity: float | None, noises: Sequence[float]) -> Residuals:
            known = Places.of(sizes, settings, capacity)
            covariance = known.covariance(known)
            fits = (
                cls(known, *_fit(covariance, residuals, noise), noise, capacity, settings)
                for noise in noises
            )
            return min(fits, key=lambda fit: fit.error)

        best = best_of(None, NOISES)
        for capacity in CAPACITIES:
            best = min(best, best_of(capacity, (best.noise,)), key=lambda fit: fit.error)
        return best if best.capacity is None else best_of(best.capacity, NOISES)

    def joined(self, residuals: Array, of_kernels: Array) -> Residuals:
        """Return the same with kernels that learn from each other, too.

        Noise and cache stay, as chosen without that: it is exact and fast, and no worse.

        Args:
            residuals: those that it learned from.
            of_kernels: covariance of the kernels.
        """
        pulls = _joint_pulls(self.known.covariance(self.known), of_kernels, residuals, self.noise)
        return replace(self, pulls=pulls)

    def expect(self, sizes: Array) -> Array:
        """Return the expected residuals, a row for each size and a column for each kernel."""
        return np.asarray(self.expect_apart(sizes)[0])

    def expect_apart(self, sizes: Array, *mets: NDArray[np.bool_]) -> Array:
        """Return the same, and how far the sizes are from some of the measured ones.

        In single precision, which is exact to a millionth and takes half as long.

        Args:
            sizes: m, n, k and batch, a row each.
            mets: which of the measured sizes count (rows), for each kernel (columns).

        Returns:
            Tables: first the residuals, then one for each of `mets`, from 0 if a size that counts
            is near, up to 1. That is the standard deviation, relative to that of an unknown
            residual, if the residual at the nearest one of them is known.
        """
        known, asked = (each.as_type(np.float32) for each in (self.known, self._places(sizes)))
        pulls, *counts = (each.astype(np.float32) for each in (self.pulls, *mets))
        found = np.empty((1 + len(counts), len(sizes), pulls.shape[1]))
        for rows in _parts(len(sizes)):
            covariance = asked.take(rows).covariance(known)
            found[0, rows] = covariance @ pulls
            for _ in range(_DOUBLINGS if counts else 0):
                covariance *= covariance
            for apart, met in zip(found[1:], counts, strict=True):
                nearest = (covariance @ met) ** (0.5**_DOUBLINGS)
                apart[rows] = np.sqrt(1.0 - np.minimum(nearest, 1.0) ** 2)
        return found

    def doubt(self, sizes: Array) -> Array:
        """Return the standard deviations of the logs of predicted times, in the same form."""
        return np.concatenate([self._doubt(sizes[rows]) for rows in _parts(len(sizes))])

    def _doubt(self, sizes: Array) -> Array:
        covariance = self._places(sizes).covariance(self.known)
        found = np.empty((len(sizes), self.pulls.shape[1]))
        for columns, rows, inverse in self.groups:
            near = covariance[:, rows]
            left = 1.0 - np.einsum("ij,jk,ik->i", near, inverse, near, optimize=True)
            found[:, columns] = np.sqrt(np.maximum(left, 0.0)[:, None] * self.scale[columns])
        return found

    @property
    def timed(self) -> NDArray[np.bool_]:
        """Which of the measured sizes (rows) each kernel (columns) was timed on."""
        found = np.zeros(self.pulls.shape, dtype=np.bool_)
        for columns, rows, _ in self.groups:
            found[np.ix_(rows, columns)] = True
        return found

    def _places(self, sizes: Array) -> Places:
        return Places.of(sizes, self.settings, self.capacity)


def _fit(
    covariance: Array, residuals: Array, noise: float
) -> tuple[Array, tuple[_Group, ...], Array, float]:
    """Solve for every kernel, and predict each known residual from the others.

    Returns:
        `pulls`, `groups`, `scale` and `error` of `Residuals`.
    """
    pulls, scale, error = np.zeros(residuals.shape), np.zeros(residuals.shape[1]), 0.0
    groups: list[_Group] = []
    known = np.isfinite(residuals)
    # An effect that slows all kernels alike changes no choice, so it does not count for the noise.
    means = means_of_known(residuals)
    for columns in _timed_alike(known):
        rows: NDArray[np.intp] = np.flatnonzero(known[:, columns[0]])
        here = residuals[np.ix_(rows, columns)]
        noisy = covariance[np.ix_(rows, rows)] + noise * np.eye(len(rows))
        inverse = np.asarray(np.linalg.inv(noisy), dtype=np.float64)
        pull = inverse @ here
        pulls[np.ix_(rows, columns)] = pull
        scale[columns] = (here * pull).sum(axis=0) / max(len(rows), 1)
        groups.append((columns, rows, inverse))
        apart = inverse @ (here - means[rows, None])
        error += float(((apart / np.diag(inverse)[:, None]) ** 2).sum())
    return pulls, tuple(groups), scale, error


def means_of_known(residuals: Array) -> Array:
    """Return the mean residual of the kernels that were timed on each size."""
    known = np.isfinite(residuals)
    sums = np.where(known, residuals, 0.0).sum(axis=1)
    return np.asarray(sums / np.maximum(known.sum(axis=1), 1))


def _joint_pulls(covariance: Array, of_kernels: Array, residuals: Array, noise: float) -> Array:
    """Solve for all kernels at once, by conjugate gradients.

    A product with the covariances of all times takes two products of small matrices.
    """
    from scipy.sparse.linalg import LinearOperator, cg  # takes long to load

    known = np.nonzero(np.isfinite(residuals))
    given = residuals[known]
    weights = np.zeros(residuals.shape)

    def product_with(vector: Array) -> Array:
        weights[known] = vector.ravel()
        return np.asarray((covariance @ weights @ of_kernels)[known] + noise * vector.ravel())

    operator = LinearOperator((len(given), len(given)), matvec=product_with, dtype=np.float64)
    weights[known], _ = cg(operator, given, rtol=_SOLVED, maxiter=_MOST_STEPS)
    return np.asarray(weights @ of_kernels)


def _timed_alike(known: NDArray[np.bool_]) -> Iterator[NDArray[np.intp]]:
    """Yield the kernels that were timed on the same sizes, by their columns."""
    _, group = np.unique(known, axis=1, return_inverse=True)
    for number in range(int(group.max()) + 1):
        yield np.flatnonzero(group.ravel() == number)


def _parts(count: int) -> list[slice]:
    return [slice(start, start + _ROWS) for start in range(0, max(count, 1), _ROWS)]
