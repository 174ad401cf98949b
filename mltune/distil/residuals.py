"""What time formulas leave of the measured times, learned by a Gaussian process over sizes.

A formula counts tiles, waves and steps; what it does not know, such as caches and how well rows
lie in memory, changes slowly with the size. All kernels share one covariance, so that one small
matrix is solved for all.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mltune.distil.fit import Settings

Array = NDArray[np.float64]

REACH = 4.0
"""How many doublings of an extent two sizes may be apart to tell each other 48 % of a rest."""

ODD, ALIGNMENT = 1 / 3, 1 / 18
"""How much a size that is no whole vectors, and each doubling of alignment, are apart."""

NOISES = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 12.8)
"""Variances of noise over variances of rests; the one that predicts left-out times best is taken.

Reach and distances were chosen on splits 100 and 101 of five shipped runs; of reaches 2, 4 and 8
all were within 0.1 % of each other.
"""

_ALIGNED = 8
"""Of elements; nothing reads more at once."""

_ROWS = 512
"""Sizes that are asked about at a time: their covariances with 400 known sizes stay in a cache."""


_KINDS = np.array(list(product((0, 1), (0, 1), (0, 1), *[range(_ALIGNED.bit_length())] * 3)))
"""Of alignment: which of m, n and k are no whole vectors, and how often 2 divides each."""

_RADIX = np.array([4 * 2**6, 2 * 2**6, 2**6, 16, 4, 1])
"""Numbers them."""


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """Where sizes lie: near ones share their rests.

    Attributes:
        smooth: three axes, a row for each size.
        kinds: of alignment, by their numbers; a table has what two of them share.
    """

    smooth: Array
    kinds: NDArray[np.intp]
    shared: Array

    @classmethod
    def of(cls, sizes: Array, settings: Settings) -> Places:
        """The places of m, n, k and batch, a row each."""
        extents = sizes[:, :3]
        is_odd = extents % np.array(settings.multiples) > 0
        aligned = np.log2(np.gcd(extents.astype(np.int64), _ALIGNED)).astype(np.intp)
        smooth = np.log2(extents) * (math.sqrt(3.0) / REACH)
        return cls(smooth, np.hstack([is_odd, aligned]) @ _RADIX, _shared())

    def as_type(self, number: type[np.floating[Any]]) -> Places:
        """The same in another precision."""
        return Places(self.smooth.astype(number), self.kinds, self.shared.astype(number))

    def covariance(self, others: Places) -> Array:
        """Matern's 3/2 over the extents, exponential over how they are aligned."""
        apart = np.zeros((len(self.smooth), len(others.smooth)), dtype=self.smooth.dtype)
        for axis in range(3):
            step = np.subtract.outer(self.smooth[:, axis], others.smooth[:, axis])
            step *= step
            apart += step
        np.sqrt(apart, out=apart)
        told = np.exp(-apart)
        apart += 1.0
        told *= apart
        told *= self.shared[:, others.kinds][self.kinds]
        return told


@lru_cache(maxsize=1)
def _shared() -> Array:
    """What two kinds of alignment share."""
    weights = np.array([ODD] * 3 + [ALIGNMENT] * 3)
    apart = np.abs(_KINDS[:, None, :] - _KINDS[None, :, :]) @ weights
    return np.asarray(np.exp(-apart))


@dataclass(frozen=True, slots=True, eq=False)
class Residuals:
    """Knows what to add to the log of a formula's time.

    Attributes:
        known: places of the measured sizes, a row each.
        pulls: of each measured size (rows) on each kernel (columns).
        means: of the rests of all kernels, a column each.
        groups: kernels that were timed on the same sizes: which sizes, and the inverse of their
            covariances.
        scale: variance of the rests that the covariances stand for.
        error: sum of squares of what each known rest differs from what the others tell of it.
    """

    known: Places
    pulls: Array
    groups: tuple[tuple[NDArray[np.intp], NDArray[np.intp], Array], ...]
    scale: Array
    error: float
    settings: Settings

    @classmethod
    def learn(cls, sizes: Array, rests: Array, settings: Settings) -> Residuals:
        """Learn from measured times.

        Args:
            sizes: m, n, k and batch, a row each.
            rests: log of measured time / formula's time by size and kernel; nan where unknown.
            settings: tell which sizes are whole vectors.
        """
        known = Places.of(sizes, settings)
        covariance = known.covariance(known)
        fits = [_fit(covariance, rests, noise) for noise in NOISES]
        best = min(fits, key=lambda fit: fit.error)
        return cls(known, best.pulls, best.groups, best.scale, best.error, settings)

    def expect(self, sizes: Array) -> Array:
        """What to add, a row for each size and a column for each kernel.

        In single precision, which is exact to a millionth and takes half as long.
        """
        known, pulls = self.known.as_type(np.float32), self.pulls.astype(np.float32)
        found = np.empty((len(sizes), pulls.shape[1]))
        for rows in _parts(len(sizes)):
            asked = Places.of(sizes[rows], self.settings).as_type(np.float32)
            found[rows] = asked.covariance(known) @ pulls
        return found

    def doubt(self, sizes: Array) -> Array:
        """The standard deviation of the log of a time that is expected, likewise."""
        return np.concatenate([self._doubt(sizes[rows]) for rows in _parts(len(sizes))])

    def _doubt(self, sizes: Array) -> Array:
        shared = Places.of(sizes, self.settings).covariance(self.known)
        found = np.empty((len(sizes), self.pulls.shape[1]))
        for columns, rows, inverse in self.groups:
            told = shared[:, rows]
            left = 1.0 - np.einsum("ij,jk,ik->i", told, inverse, told, optimize=True)
            found[:, columns] = np.sqrt(np.maximum(left, 0.0)[:, None] * self.scale[columns])
        return found


@dataclass(frozen=True, slots=True, eq=False)
class _Fit:
    pulls: Array
    groups: tuple[tuple[NDArray[np.intp], NDArray[np.intp], Array], ...]
    scale: Array
    error: float


def _fit(covariance: Array, rests: Array, noise: float) -> _Fit:
    """Solve for every kernel, and predict each known rest without itself."""
    pulls, scale, error = np.zeros(rests.shape), np.zeros(rests.shape[1]), 0.0
    groups: list[tuple[NDArray[np.intp], NDArray[np.intp], Array]] = []
    known = np.isfinite(rests)
    # What slows all kernels alike changes no choice, and is no reason for or against a noise.
    alike = np.where(known, rests, 0.0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
    for columns in _alike(known):
        rows: NDArray[np.intp] = np.flatnonzero(known[:, columns[0]])
        told = rests[np.ix_(rows, columns)]
        noisy = covariance[np.ix_(rows, rows)] + noise * np.eye(len(rows))
        inverse = np.asarray(np.linalg.inv(noisy), dtype=np.float64)
        pull = inverse @ told
        pulls[np.ix_(rows, columns)] = pull
        scale[columns] = (told * pull).sum(axis=0) / max(len(rows), 1)
        groups.append((columns, rows, inverse))
        apart = inverse @ (told - alike[rows, None])
        error += float(((apart / np.diag(inverse)[:, None]) ** 2).sum())
    return _Fit(pulls, tuple(groups), scale, error)


def _alike(known: NDArray[np.bool_]) -> Iterator[NDArray[np.intp]]:
    """Kernels that were timed on the same sizes, by their columns."""
    _, group = np.unique(known, axis=1, return_inverse=True)
    for number in range(int(group.max()) + 1):
        yield np.flatnonzero(group.ravel() == number)


def _parts(count: int) -> list[slice]:
    return [slice(start, start + _ROWS) for start in range(0, max(count, 1), _ROWS)]
