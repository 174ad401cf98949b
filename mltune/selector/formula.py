"""Time formulas: the expected time of a kernel for a size, in whole femtoseconds.

A GPU computes a product in waves: so many macro tiles at once, then as many again. So the fastest
kernel changes back and forth as sizes grow, and a tree needs a split for every change; a formula
that counts tiles, waves and steps needs none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from mltune.errors import UsageError

INT64_MAX = 2**63 - 1
MOST_WAVES = 16
"""The most terms for waves in a formula."""

BLOCK = 1024
"""Elements of A or B that a rate counts at once: one alone takes about a femtosecond."""

_MOST_EXTENT = 2**20
_MOST_SLOTS = 2**31
MOST_RATE = 2**53
"""Nine seconds, in femtoseconds; other programs read such numbers from JSON exactly."""

_RATES = (
    "launch", "tile", "wave", "step", "tile_step", "odd_step", "odd_tile", "load_a", "load_b",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Waves:
    """The cost of a step for each wave of `slots` tiles.

    Attributes:
        slots: tiles that are computed at the same time.
        step: femtoseconds per step of each such wave.

    Raises:
        UsageError: when a number is out of range.
    """

    slots: int
    step: int

    def __post_init__(self) -> None:
        _check("slots", self.slots, 1, _MOST_SLOTS)
        _check("step", self.step, 0, MOST_RATE)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeFormula:
    """The time of one kernel, as a sum of counts times femtoseconds.

    It counts the tiles that cover C, the steps of `depth` terms that a sum takes, and the waves:

        launch + tile * tiles + wave * waves of units + load_a * blocks of A + load_b * blocks of B
        + (step + tile_step * tiles + sum of waves.step * waves) * steps

    A size of which not every extent is a multiple of `multiples` is read in narrower accesses,
    which costs `odd_step` more in each step, and `odd_waves` in each step of a wave; with
    `narrowed`, so much for each element and each time that its access must be halved. One whose C
    cannot be written in vectors, by `result_multiples`, costs `odd_tile` more for each tile. A
    block has `BLOCK` elements: kernels that pack A and B first read each element once, whatever
    the tiles.

    Attributes:
        rows: of C that one work-group computes.
        columns: of C that one work-group computes.
        depth: terms of a sum per step.
        wave: what a wave costs before the first step and after the last.
        units: tiles of such a wave.
        multiples: of m, n and k where vectors can be read.
        narrowed: elements of A and B, of each term of a sum, whose rows lie along m, n and k; all
            0 if it does not matter which extents are odd, and how odd they are.
        result_multiples: of m and n where C can be written in vectors.
        load_a: femtoseconds for each block of A, and of a part of one.
        load_b: the same for B.

    Raises:
        UsageError: when a number is out of range.
    """

    rows: int
    columns: int
    depth: int
    launch: int
    tile: int
    step: int
    tile_step: int
    waves: tuple[Waves, ...] = ()
    multiples: tuple[int, int, int] = (1, 1, 1)
    odd_step: int = 0
    odd_waves: tuple[Waves, ...] = ()
    wave: int = 0
    units: int = 1
    result_multiples: tuple[int, int] = (1, 1)
    odd_tile: int = 0
    load_a: int = 0
    load_b: int = 0
    narrowed: tuple[int, int, int] = (0, 0, 0)

    def __post_init__(self) -> None:
        for name in ("rows", "columns", "depth"):
            _check(name, getattr(self, name), 1, _MOST_EXTENT)
        for name in _RATES:
            _check(name, getattr(self, name), 0, MOST_RATE)
        _check("units", self.units, 1, _MOST_SLOTS)
        for multiple in (*self.multiples, *self.result_multiples):
            _check("multiples", multiple, 1, _MOST_EXTENT)
        for elements, multiple in zip(self.narrowed, self.multiples, strict=True):
            _check("narrowed", elements, 0, 2 * _MOST_EXTENT)
            if elements and multiple & (multiple - 1):
                raise UsageError(
                    f"time formula: multiples must be powers of 2 with narrowed, got {multiple}"
                )
        for waves in (self.waves, self.odd_waves):
            if len(waves) > MOST_WAVES:
                raise UsageError(
                    f"time formula: at most {MOST_WAVES} terms for waves, got {len(waves)}"
                )

    def femtoseconds(self, m: int, n: int, k: int, batch: int = 1) -> int:
        """Return the expected time; m, n, k and batch are at least 0."""
        tiles = -(-m // self.rows) * -(-n // self.columns) * batch
        each_step = self.step + self.tile_step * tiles
        each_step += _of_waves(self.waves, tiles)
        if odd := self._odd(m, n, k):
            each_step += odd * (self.odd_step + _of_waves(self.odd_waves, tiles))
        once = self.launch + self.tile * tiles + self.wave * -(-tiles // self.units)
        if m % self.result_multiples[0] or n % self.result_multiples[1]:
            once += self.odd_tile * tiles
        if self.load_a or self.load_b:  # of few kernels
            once += self.load_a * -(-m * k * batch // BLOCK)
            once += self.load_b * -(-k * n * batch // BLOCK)
        return once + each_step * -(-k // self.depth)

    def _odd(self, m: int, n: int, k: int) -> int:
        """How often `odd_step` counts."""
        of_m, of_n, of_k = self.multiples
        if not (m % of_m or n % of_n or k % of_k):
            return 0
        if not any(self.narrowed):
            return 1
        along_m, along_n, along_k = self.narrowed
        return (
            along_m * halvings(m, of_m) + along_n * halvings(n, of_n) + along_k * halvings(k, of_k)
        )

    @property
    def most_odd(self) -> int:
        """The most of these."""
        pairs = zip(self.narrowed, self.multiples, strict=True)
        return sum(each * halvings(1, multiple) for each, multiple in pairs) or 1


def halvings(extent: int, multiple: int) -> int:
    """How often an access of so many elements is halved until it suits rows of this length.

    Args:
        extent: the length, at least 0.
        multiple: a power of 2.
    """
    return multiple.bit_length() - math.gcd(extent, multiple).bit_length()


def _of_waves(waves: Sequence[Waves], tiles: int) -> int:
    return sum(each.step * -(-tiles // each.slots) for each in waves)


def fastest(formulas: Sequence[TimeFormula], m: int, n: int, k: int, batch: int = 1) -> int:
    """Return the index of the formula with the least time; of equal ones the first."""
    times = [formula.femtoseconds(m, n, k, batch) for formula in formulas]
    return times.index(min(times))


MOST_EXTENT = 2**31
"""The largest size for formulas; products of two such numbers fit into 64 bits."""


def has_times(m: int, n: int, k: int, batch: int, *, pad: int, limit: int) -> bool:
    """Whether formulas with this `padding` and this `work_limit` support a size."""
    work = (m + pad) * (n + pad) * (k + pad) * max(batch, 1)
    return max(m, n, k, batch) <= MOST_EXTENT and work <= limit


def padding(formulas: Sequence[TimeFormula]) -> int:
    """The largest extent of a tile, which `work_limit` adds to m, n and k."""
    return max(max(formula.rows, formula.columns, formula.depth) for formula in formulas)


def work_limit(formulas: Sequence[TimeFormula]) -> int:
    """The largest work for which no time, and no intermediate result, exceeds 63 bits.

    The work of a size is (m + p) * (n + p) * (k + p) * max(batch, 1), with p the `padding`. Every
    count in a formula is at most a known part of it, so the times are at most a constant plus the
    work times a rate. Larger sizes would run for many minutes.
    """
    extent = padding(formulas)
    return min(_limit(formula, extent) for formula in formulas)


def _limit(formula: TimeFormula, extent: int) -> int:
    area = formula.rows * formula.columns
    tiles = Fraction(1, area * extent)  # tiles <= work * this, and so on
    steps = Fraction(1, formula.depth * extent**2)
    tile_steps = Fraction(1, area * formula.depth)
    rate = (formula.tile + formula.odd_tile) * tiles + formula.tile_step * tile_steps
    rate += formula.wave * tiles / formula.units
    rate += (formula.step + formula.most_odd * formula.odd_step) * steps
    rate += Fraction(formula.load_a + formula.load_b, BLOCK * extent)
    every = [(waves, 1) for waves in formula.waves]
    every += [(waves, formula.most_odd) for waves in formula.odd_waves]
    for waves, count in every:  # a wave may have a single tile
        rate += count * waves.step * (tile_steps / waves.slots + steps)
    once = formula.launch + formula.wave + formula.load_a + formula.load_b
    most = math.floor((INT64_MAX - once) / rate) if rate else INT64_MAX
    return min(most, INT64_MAX - 1)


def _check(name: str, value: int, low: int, high: int) -> None:
    if type(value) is not int or not low <= value <= high:
        raise UsageError(
            f"time formula: {name} must be a whole number from {low} to {high}, got {value!r}"
        )
