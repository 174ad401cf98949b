"""Timed launches are checked, too: single elements of C are spoilt before, and looked at after.

A kernel that did its work once could find the answer in C at every later launch, and return. So
elements that nobody can know beforehand get other contents before some launches that nobody can
know either: numbers that are right elsewhere in C, and NaN among them. All other elements stay as
they are, so that a kernel has to read most of C to tell a checked launch from another one. Where
beta is not 0, every launch changes C, and it is enough to look at elements before and after.

What a launch left is looked at when the next one spoils, or before one that nobody checks: each
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

_RING = 512  # elements of C that may be spoilt
_SHARE = 8  # of a small C, one in so many is
_MOST_CHECKS = 16  # of one measurement
_ROWS = 2  # of what elements are spoilt with
_CLEARLY = 16  # bounds that a spoilt element is off by


def can_check(problem: Problem) -> bool:
    """Whether what a launch leaves follows from what it found.

    With an activation after beta * C that would take the product before it, which nobody keeps.
    """
    return problem.beta == 0 or problem.contraction.epilogue.activation is Activation.NONE


class SpotChecks:
    """Spoils and looks, for the kernels that compute one problem."""

    def __init__(self, device: Device, problem: Problem, right: RightResult, seed: int) -> None:
        """Choose the elements, and what to spoil them with.

        Args:
            device: where C is.
            problem: what is computed.
            right: the right result.
            seed: of the numbers that C has before the product.

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
        self._checks: list[int] = []  # of each launch, where in the ring its elements start
        self._pending: Buffer = None  # the C of a launch that is not looked at yet
        self._spots: Spots = device.inspection.spots(
            places, values, _MOST_CHECKS * 2 * self._spoilt
        )

    def begin(self) -> None:
        """Forget what was seen before."""
        self._checks.clear()
        self._pending = None

    def before(self, c: Buffer) -> None:
        """Spoil elements of C before a launch, or note what they are; returns at once."""
        left = self._left()
        start, count = self._random.randrange(len(self._numbers)), self._spoilt
        self._checks.append(start)
        then: Kept | Put
        if self._beta == 0:
            then = Put(start, count, self._random.randrange(_ROWS))
        else:
            then = Kept(start, count, self._first(-1))
        self._spots.exchange(c, left, then)
        self._pending = c

    def look(self) -> None:
        """Keep what the last launch that was checked left, unless that is done; returns at once.

        To be called before anything else changes C.
        """
        if self._pending is not None:
            self._spots.exchange(self._pending, self._left(), None)
            self._pending = None

    @property
    def is_full(self) -> bool:
        """Whether as many launches have been checked as can be."""
        return len(self._checks) == _MOST_CHECKS

    def fault(self) -> str:
        """Wait, and say what is wrong; empty if every launch that was checked did its work."""
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
                # Launch after launch C may grow beyond what its type can hold.
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

    def _first(self, check: int) -> int:
        return check % len(self._checks) * 2 * self._spoilt

    def _left(self) -> Kept | None:
        """Where the last launch that was checked left what nobody has looked at yet."""
        if self._pending is None:
            return None
        return Kept(self._checks[-1], self._spoilt, self._first(-1) + self._spoilt)

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
