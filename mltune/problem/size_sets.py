"""Random sets of sizes, the same for the same seed on every machine and version."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

from mltune.errors import UsageError
from mltune.problem.size import MAX_EXTENT, MAX_SIZES, Size


def random_sizes(
    count: int, seed: int, low: int = 1, high: int = 4096, *, awkward: float = 0.5
) -> tuple[Size, ...]:
    """Draw different (m, n, k) sizes, log-uniform, with many extents that are hard to tile.

    Args:
        count: how many.
        seed: of the random numbers.
        low: the smallest extent.
        high: the largest extent, included.
        awkward: the share of extents that are moved to a neighbour that breaks tiling: `low`, a
            prime, or a multiple of 16 plus 1, minus 1, or plus 0.

    Raises:
        UsageError: when an argument is out of range, or there are too few sizes to draw from.
    """
    if not 1 <= low <= high <= MAX_EXTENT:
        raise UsageError(f"sizes: need 1 <= low <= high <= {MAX_EXTENT}, got {low} and {high}")
    if not 0 <= awkward <= 1:
        raise UsageError(f"sizes: the awkward share must be 0 to 1, got {awkward}")
    # At most half of the cube, so that drawing different sizes ends soon.
    most = min(MAX_SIZES, max(1, (high - low + 1) ** 3 // 2))
    if not 1 <= count <= most:
        raise UsageError(f"sizes: can draw 1 to {most} from {low} to {high}, got {count}")
    # Only random() is used: Python guarantees the same numbers in all versions.
    generator = random.Random(seed)
    drawn: dict[tuple[int, ...], None] = {}
    while len(drawn) < count:
        drawn[tuple(_extent(generator, low, high, awkward) for _ in range(3))] = None
    return tuple(Size(extents) for extents in drawn)


def _extent(generator: random.Random, low: int, high: int, awkward: float) -> int:
    plain = int(low * math.exp(generator.random() * math.log((high + 1) / low)))
    plain = min(max(plain, low), high)
    if generator.random() >= awkward:
        return plain
    move = _MOVES[int(generator.random() * len(_MOVES))]
    return min(max(move(plain, low), low), high)


def _prime_below(value: int) -> int:
    candidate = max(value, 2)
    while any(candidate % divisor == 0 for divisor in range(2, math.isqrt(candidate) + 1)):
        candidate -= 1
    return candidate


def _multiple(value: int) -> int:
    return max(round(value / 16), 1) * 16


_MOVES: tuple[Callable[[int, int], int], ...] = (
    lambda _, low: low,
    lambda value, _: _prime_below(value),
    lambda value, _: _multiple(value),
    lambda value, _: _multiple(value) - 1,
    lambda value, _: _multiple(value) + 1,
)
