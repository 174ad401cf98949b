"""Time formulas for many sizes at once: in floating point, where nothing overflows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mltune.selector import TimeFormula, Waves

Array = NDArray[np.float64]

_FEMTO = 1e-15


def log_seconds(formulas: Sequence[TimeFormula], sizes: Array) -> Array:
    """The log of what formulas expect.

    Args:
        formulas: one for each kernel.
        sizes: m, n, k and batch, a row each, at least 1.

    Returns:
        A row for each size, a column for each kernel.
    """
    return np.stack([np.log(_femtoseconds(each, sizes) * _FEMTO) for each in formulas], axis=1)


def _femtoseconds(formula: TimeFormula, sizes: Array) -> Array:
    """`TimeFormula.femtoseconds`, at least 1."""
    m, n, k, batch = sizes.T
    tiles = np.ceil(m / formula.rows) * np.ceil(n / formula.columns) * batch
    of_m, of_n, of_k = formula.multiples
    is_odd = ((m % of_m) + (n % of_n) + (k % of_k)) > 0
    each_step = formula.step + formula.tile_step * tiles + _of_waves(formula.waves, tiles)
    each_step += is_odd * (formula.odd_step + _of_waves(formula.odd_waves, tiles))
    once = formula.launch + formula.tile * tiles
    once += formula.wave * np.ceil(tiles / formula.units)
    of_m, of_n = formula.result_multiples
    once += (((m % of_m) + (n % of_n)) > 0) * (formula.odd_tile * tiles)
    return np.asarray(np.maximum(once + each_step * np.ceil(k / formula.depth), 1.0))


def _of_waves(waves: Sequence[Waves], tiles: Array) -> Array:
    return sum((each.step * np.ceil(tiles / each.slots) for each in waves), np.zeros(len(tiles)))
