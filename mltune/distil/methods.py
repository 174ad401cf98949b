"""The kinds of rules, by name: trees, formulas, Tensile's ranges, AutoGEMM's tiles."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mltune.distil.fit import Fitted, Settings, fit
from mltune.distil.formulas import fit_formulas
from mltune.distil.ranges import fit_ranges
from mltune.distil.table import TimeTable
from mltune.distil.taught import fit_taught
from mltune.distil.tiles import fit_tiles
from mltune.selector import Leaf

Method = Callable[[TimeTable, Settings], Fitted]

AUTO = "auto"

TAUGHT = "taught"

METHODS: dict[str, Method] = {
    TAUGHT: fit_taught,
    "formulas": fit_formulas,
    "tree": fit,
    "tensile": fit_ranges,
    "autogemm": fit_tiles,
}

SINGLE = "single best kernel"


def fit_single(table: TimeTable, settings: Settings) -> Fitted:
    """Return the kernel with the least loss over all sizes, of those that are right on most."""
    solved = np.isfinite(table.known).sum(axis=0)
    losses = table.size_weights @ table.log_ratios
    best = int(np.argmin(np.where(solved == solved.max(), losses, np.inf)))
    return Fitted((best,), Leaf(0))


def fit_rule(rule: str, table: TimeTable, settings: Settings) -> Fitted:
    """Fit the rule of a method, or the single kernel if there is no such method."""
    return METHODS.get(rule, fit_single)(table, settings)
