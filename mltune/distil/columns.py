"""What a taught tree may ask for, computed for many sizes at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mltune.selector import TimeFormula
from mltune.selector.rest import rest_name
from mltune.selector.tiling import CAP, Tiling

_ALIGNMENTS = (2, 4, 8)
_PRODUCTS = {"m": (0,), "n": (1,), "k": (2,), "mn": (0, 1), "mk": (0, 2), "nk": (1, 2)}

Columns = dict[str, NDArray[np.int64]]


def columns(formulas: Sequence[TimeFormula], sizes: NDArray[np.float64]) -> Columns:
    """The features in which the times of these formulas are stairs, by name.

    A question for waves is one for tiles, so only tiles are asked for.

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
    capped = np.minimum(extents, CAP)
    for formula in formulas:
        multiples = np.array(formula.multiples)
        found[rest_name(formula.multiples)] = (extents[:, :3] % multiples).sum(axis=1)
        rows, wide = formula.rows, formula.columns
        tiles = -(-capped[:, 0] // rows) * -(-capped[:, 1] // wide) * capped[:, 3]
        found[Tiling("tiles", rows, wide).name] = tiles
        waves = (*formula.waves, *formula.odd_waves)
        for slots in {formula.units, *(each.slots for each in waves)}:
            if slots > 1:
                found[Tiling("idle", rows, wide, slots).name] = -tiles % slots
    return found
