"""The ways to choose by size, by name: our tree, Tensile's ranges, AutoGEMM's tiles."""

from __future__ import annotations

from collections.abc import Callable

from mltune.distil.fit import Fitted, Settings, fit
from mltune.distil.ranges import fit_ranges
from mltune.distil.table import TimeTable
from mltune.distil.tiles import fit_tiles

Method = Callable[[TimeTable, Settings], Fitted]

TREE = "tree"

METHODS: dict[str, Method] = {TREE: fit, "tensile": fit_ranges, "autogemm": fit_tiles}
