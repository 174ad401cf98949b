"""The features of a taught tree, computed for many sizes at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from mltune.selector import TimeFormula
from mltune.selector.rest import rest_name
from mltune.selector.tiling import CAP, MOST_USED, Tiling

_ALIGNMENTS = (2, 4, 8)
_PRODUCTS = {"m": (0,), "n": (1,), "k": (2,), "mn": (0, 1), "mk": (0, 2), "nk": (1, 2)}

Multiples = tuple[int, int, int]
Columns = dict[str, NDArray[np.int64]]


def _halved(multiples: Multiples) -> Iterator[Multiples]:
    """Yield multiples, half of them, and so on: narrower accesses that still suit all rows."""
    while max(multiples) > 1:
        yield multiples
        m, n, k = (max(each // 2, 1) for each in multiples)
        multiples = (m, n, k)


def columns(formulas: Sequence[TimeFormula], sizes: NDArray[np.float64]) -> Columns:
    """Return the features in which the times of these formulas are step functions, by name.

    A threshold on waves is one on tiles, so the features are the tiles and the share of the places
    of all waves that is used. Trees of the latter lose a quarter less than trees that ask for idle
    places (0.24 and 0.32 % of four runs of an H200).

    Args:
        formulas: of the kernels.
        sizes: m, n, k and batch, a row each; products of them are below 2^63.
    """
    extents = sizes.astype(np.int64)
    found = {
        name: extents[:, list(axes)].prod(axis=1)
        for name, axes in {**_PRODUCTS, "mnk": (0, 1, 2), "batch": (3,)}.items()
    }
    for axis in range(3):
        for alignment in _ALIGNMENTS:
            tile = (*(alignment if at == axis else 1 for at in range(3)),)
            found[rest_name((tile[0], tile[1], tile[2]))] = extents[:, axis] % alignment
    m, n, batch = np.minimum(extents[:, [0, 1, 3]], CAP).T
    for multiples in sorted({each for formula in formulas for each in _halved(formula.multiples)}):
        found[rest_name(multiples)] = (extents[:, :3] % np.array(multiples)).sum(axis=1)
    for formula in formulas:
        rows, wide = formula.rows, formula.columns
        tiles = -(-m // rows) * -(-n // wide) * batch
        found[Tiling("tiles", rows, wide).name] = tiles
        if max(rows, wide) > MOST_USED:
            continue
        waves = (*formula.waves, *formula.odd_waves)
        for slots in {1, formula.units, *(each.slots for each in waves)}:
            places = -(-tiles // slots) * (slots * rows * wide)
            found[Tiling("used", rows, wide, slots).name] = 1024 * m * n * batch // (places + 1)
    return found
