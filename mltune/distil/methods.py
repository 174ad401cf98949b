"""The ways to choose by size, by name: formulas, our tree, Tensile's ranges, AutoGEMM's tiles."""

from __future__ import annotations

from collections.abc import Callable

from mltune.distil.fit import FEATURE_SETS, PARTS, Fitted, Settings, best_shape, fit, fit_shape
from mltune.distil.formulas import best_formulas, fit_formulas
from mltune.distil.ranges import fit_ranges
from mltune.distil.table import TimeTable
from mltune.distil.tiles import fit_tiles

Method = Callable[[TimeTable, Settings], Fitted]

AUTO = "auto"


def fit_auto(table: TimeTable, settings: Settings) -> Fitted:
    """Time formulas or a tree, whichever loses less on sizes held out of `table`.

    With fewer than `PARTS` sizes, which tell nothing about that, it is a tree.
    """
    if len(table.sizes) < PARTS:
        return fit(table, settings)
    shape, loss_of_tree = best_shape(table, settings, FEATURE_SETS)
    formulas, loss_of_formulas = best_formulas(table, settings)
    if formulas.formulas and loss_of_formulas < loss_of_tree:
        return formulas
    return fit_shape(table, settings, shape)


METHODS: dict[str, Method] = {
    AUTO: fit_auto,
    "formulas": fit_formulas,
    "tree": fit,
    "tensile": fit_ranges,
    "autogemm": fit_tiles,
}
