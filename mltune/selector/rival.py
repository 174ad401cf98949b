"""Two kernels of one leaf: which of them takes a size, by what formulas expect of both.

Where a GPU's times rise in steps, two kernels may change places many times inside a leaf. One
comparison of their formulas follows all these steps, for which a tree needs a question each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mltune.errors import UsageError
from mltune.selector.formula import TimeFormula, has_times, padding, work_limit

PARTS = 4096
"""A share is counted in such parts."""

SHIFT, MOST_TIME = 4, 2**50
"""Times are compared in units of 2^4 femtoseconds, and count as at most 2^50 of them (18 s).

So no product exceeds 62 bits.
"""

Share = Callable[[int, int, int, int, int, int], int]
"""Returns a share for the numbers of two kernels, and m, n, k and batch, which are at least 0."""


@dataclass(frozen=True, slots=True)
class Rival:
    """Another kernel, which takes a leaf's sizes if the leaf's own is expected to be too slow.

    Attributes:
        kernel: its number in the portfolio.
        threshold: the largest share that the own kernel's expected time may have in the sum of
            both times, in parts of `PARTS`; 2,048 if the formulas are right.

    Raises:
        UsageError: when the threshold is out of range.
    """

    kernel: int
    threshold: int

    def __post_init__(self) -> None:
        if not 0 <= self.threshold < PARTS:
            raise UsageError(
                f"selector: a rival's threshold must be from 0 to {PARTS - 1}, "
                f"got {self.threshold}"
            )


def share(first: int, second: int) -> int:
    """Return the share of the first of two times, in femtoseconds, in their sum."""
    first, second = min(first >> SHIFT, MOST_TIME), min(second >> SHIFT, MOST_TIME)
    return PARTS * first // (first + second + 1)


def share_of(formulas: Sequence[TimeFormula]) -> Share:
    """Return a function that compares two kernels by their formulas.

    A size beyond the formulas' `work_limit` has equal shares.
    """
    times = [formula.femtoseconds for formula in formulas]
    pad, limit = padding(formulas), work_limit(formulas)

    def of(first: int, second: int, m: int, n: int, k: int, batch: int) -> int:
        if not has_times(m, n, k, batch, pad=pad, limit=limit):
            return PARTS // 2
        return share(times[first](m, n, k, batch), times[second](m, n, k, batch))

    return of
