"""Checks of timed launches: single elements of C are overwritten before, and read after a launch.

A kernel that did its work once could find the result in C at every later launch, and return. So
random elements are overwritten before random launches: with numbers that are right elsewhere in C,
and NaN. All other elements stay as they are, so a kernel would have to read most of C to recognise
a checked launch. If beta is not 0, every launch changes C, and it is enough to read elements
before and after.

The result of a launch is read when the next one is prepared, or before an unchecked launch: each
call of the driver takes a processor tens of microseconds.
"""

from __future__ import annotations

import math
import random

import numpy as np

from mltune.device import MOST_SPOTS, Buffer, Device, Kept, Put, Spots
from mltune.problem import Activation, Problem
from mltune.runner.data import Array, Layout
from mltune.runner.generator import drawn_at, key_of
from mltune.runner.validation import RightResult, scalars

_RING = 512  # elements of C that may be overwritten
_SHARE = 8  # of a small C, 1 / this of its elements
_MOST_CHECKS = 16  # of one measurement
_ROWS = 2  # rows of numbers to overwrite with
_CLEARLY = 16  # times the bound, by which an overwritten element is wrong


def can_check(problem: Problem) -> bool:
    """Whether the result of a launch follows from C's contents before it.

    With an activation after beta * C the product would be needed, which is not stored.
    """
    return problem.beta == 0 or problem.contraction.epilogue.activation is Activation.NONE


class SpotChecks:
    """Overwrites and reads elements, for the kernels of one problem."""

    def __init__(self, device: Device, problem: Problem, right: RightResult, seed: int) -> None:
        """Choose the elements, and the numbers to overwrite them with.

        Args:
            device: with C.
            problem: to compute.
            right: the right result.
            seed: of C's numbers before the product.

        Raises:
            LaunchError: when there is no memory left on the device.
        """
        layout = Layout.of(problem, "c")
        self._shape = right.bounds.shape
        count = math.prod(self._shape)
        chosen = np.random.default_rng()
        self._numbers = chosen.choice(count, min(count, _RING), replace=False)
        where = np.unravel_index(self._numbers, self._shape, order="F")
        places = np.full(len(self._numbers), layout.guard + layout.offset)
        for index, stride in zip(where, layout.strides, strict=True):
            places += index * stride
        self._bounds = right.bounds.at(self._numbers)
        self._beta = scalars(problem)[1]
        self._product = right.at(self._numbers)
        values = self._wrong_results(layout.dtype)
        if self._beta != 0:
            first_c = drawn_at(key_of(problem, seed, "c"), layout.dtype, self._numbers)
            self._product = self._product - self._beta * first_c.astype(self._product.dtype)
        self._beta_bound = right.bounds.relative * abs(self._beta)
        # With 256 of them, a launch of 1 ms on a processor took 2 % longer.
        self._spoilt = max(1, min(MOST_SPOTS, count // _SHARE))
        self._random = random.SystemRandom()
        self._checks: list[int] = []  # of each launch, the begin of its elements in the ring
        self._pending: Buffer = None  # the C of a launch that was not read yet
        self._spots: Spots = device.inspection.spots(
            places, values, _MOST_CHECKS * 2 * self._spoilt
        )

    def begin(self) -> None:
        """Reset the results."""
        self._checks.clear()
        self._pending = None

    def before(self, c: Buffer) -> None:
        """Overwrite elements of C before a launch, or keep their values; returns at once."""
        left = self._left()
        start, count = self._random.randrange(len(self._numbers)), self._spoilt
        self._checks.append(start)
        then: Kept | Put
        if self._beta == 0:
            then = Put(start, count, self._random.randrange(_ROWS))
        else:
            then = Kept(start, count, self._first)
        self._spots.exchange(c, left, then)
        self._pending = c

    def look(self) -> None:
        """Keep the result of the last checked launch, unless that is done; returns at once.

        To be called before anything else changes C.
        """
        if self._pending is not None:
            self._spots.exchange(self._pending, self._left(), None)
            self._pending = None

    @property
    def is_full(self) -> bool:
        """Whether the largest number of launches was checked."""
        return len(self._checks) == _MOST_CHECKS

    def fault(self) -> str:
        """Wait, and return what is wrong; empty if every checked launch did its work."""
        if not self._checks:
            return ""
        self.look()
        count = len(self._checks)
        seen = self._spots.seen(count * 2 * self._spoilt).reshape(count, 2, self._spoilt)
        before, after = seen[:, 0], seen[:, 1]
        chosen = np.add.outer(self._checks, np.arange(self._spoilt)) % len(self._numbers)
        expected, bound = self._product[chosen], self._bounds[chosen]
        with np.errstate(invalid="ignore", over="ignore"):  # an infinity or a NaN is found
            if self._beta != 0:
                expected = expected + self._beta * before
                bound = bound + self._beta_bound * np.abs(before)
                # With beta, C may grow beyond the limits of its type from launch to launch.
                bound = np.where(np.isfinite(expected.astype(after.dtype)), bound, np.inf)
            bad = ~((np.abs(after - expected) <= bound) | np.isinf(bound))
        if not bad.any():
            return ""
        first = int(bad.any(axis=1).argmax())
        wrong, worst = int(bad[first].sum()), (first, int(bad[first].argmax()))
        where = np.unravel_index(self._numbers[chosen[worst]], self._shape, order="F")
        return (
            f"a timed launch left {wrong} of {self._spoilt} elements wrong that were "
            f"looked at: C{[int(index) for index in where]} is {after[worst]:.9g}, expected "
            f"{expected[worst]:.9g} within {bound[worst]:.2g}"
        )

    @property
    def _first(self) -> int:
        """The place of the last checked launch's first element among those that are kept."""
        return (len(self._checks) - 1) * 2 * self._spoilt

    def _left(self) -> Kept | None:
        """Return the part of the ring with the last checked launch's unread elements."""
        if self._pending is None:
            return None
        return Kept(self._checks[-1], self._spoilt, self._first + self._spoilt)

    def _wrong_results(self, dtype: str) -> Array:
        """Return a row of numbers that are right elsewhere in C, and one with NaN among them."""
        right = self._product
        others = np.roll(right, 1)
        least = _CLEARLY * self._bounds
        instead = right + np.maximum(least, float(np.abs(right).mean()))
        others = np.where(np.abs(others - right) > least, others, instead)
        mixed = others.copy()
        mixed[1::2] = np.nan
        return np.stack([others, mixed]).astype(dtype)
