"""Times of formulas for many sizes at once, in floating point, where nothing overflows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mltune.selector import TimeFormula, Waves
from mltune.selector.formula import BLOCK

Array = NDArray[np.float64]

_FEMTO = 1e-15

_ROWS = 8192
"""Sizes at a time: their numbers fit into a cache."""


def log_seconds(formulas: Sequence[TimeFormula], sizes: Array) -> Array:
    """Return the log of the seconds that formulas predict.

    Args:
        formulas: one for each kernel.
        sizes: m, n, k and batch, a row each, at least 1.

    Returns:
        A row for each size, a column for each kernel.
    """
    found = np.empty((len(sizes), len(formulas)))
    for first in range(0, len(sizes), _ROWS):
        rows = slice(first, first + _ROWS)
        known = Counts(sizes[rows])
        for column, each in enumerate(formulas):
            found[rows, column] = np.log(_femtoseconds(each, known) * _FEMTO)
    return found


class Counts:
    """Sizes, with the counts that several formulas share."""

    def __init__(self, sizes: Array) -> None:
        self.m, self.n, self.k, self.batch = np.ascontiguousarray(sizes.T)
        self._whole = sizes.T.astype(np.int64)
        self._parts: dict[tuple[int, int], Array] = {}
        self._rests: dict[tuple[int, ...], NDArray[np.bool_]] = {}
        self._halved: dict[tuple[int, int], Array] = {}

    @cached_property
    def blocks(self) -> tuple[Array, Array]:
        """The blocks of A and of B, which few formulas need."""
        terms = self.k * self.batch
        return np.ceil(self.m * terms / BLOCK), np.ceil(terms * self.n / BLOCK)

    def parts(self, axis: int, step: int) -> Array:
        """Return how many steps cover an extent."""
        if (axis, step) not in self._parts:
            extent = (self.m, self.n, self.k)[axis]
            self._parts[axis, step] = np.ceil(extent / step)
        return self._parts[axis, step]

    def is_odd(self, multiples: tuple[int, ...]) -> NDArray[np.bool_]:
        """Whether one of the first extents is not a multiple."""
        if multiples not in self._rests:
            rests = [self._whole[axis] % each for axis, each in enumerate(multiples) if each > 1]
            self._rests[multiples] = np.any(rests, axis=0) if rests else self.m < 0
        return self._rests[multiples]

    def odd(self, multiples: tuple[int, int, int], narrowed: tuple[int, int, int]) -> Array:
        """How often a formula counts its `odd_step`: see `TimeFormula`."""
        if not any(narrowed):
            return self.is_odd(multiples).astype(np.float64)
        pairs = zip(narrowed, multiples, strict=True)
        return sum(
            (each * self._halvings(axis, multiple) for axis, (each, multiple) in enumerate(pairs)),
            np.zeros(len(self.m)),
        )

    def _halvings(self, axis: int, multiple: int) -> Array:
        """`mltune.selector.formula.halvings` of an extent."""
        if (axis, multiple) not in self._halved:
            fits = np.gcd(self._whole[axis], multiple)
            self._halved[axis, multiple] = np.log2(multiple // fits)
        return self._halved[axis, multiple]


def _femtoseconds(formula: TimeFormula, sizes: Counts) -> Array:
    """`TimeFormula.femtoseconds`, at least 1."""
    tiles = sizes.parts(0, formula.rows) * sizes.parts(1, formula.columns) * sizes.batch
    each_step = formula.step + formula.tile_step * tiles + _of_waves(formula.waves, tiles)
    odd_step = formula.odd_step + _of_waves(formula.odd_waves, tiles)
    each_step += sizes.odd(formula.multiples, formula.narrowed) * odd_step
    once = formula.launch + formula.tile * tiles
    once += formula.wave * np.ceil(tiles / formula.units)
    once += sizes.is_odd(formula.result_multiples) * (formula.odd_tile * tiles)
    if formula.load_a or formula.load_b:
        of_a, of_b = sizes.blocks
        once += formula.load_a * of_a + formula.load_b * of_b
    return np.asarray(np.maximum(once + each_step * sizes.parts(2, formula.depth), 1.0))


def _of_waves(waves: Sequence[Waves], tiles: Array) -> Array:
    return sum((each.step * np.ceil(tiles / each.slots) for each in waves), np.zeros(len(tiles)))
