"""The ways to choose by size, by name, and which of them ships where none is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from mltune.distil.fit import Fitted, Settings, fit
from mltune.distil.formulas import fit_formulas
from mltune.distil.ranges import fit_ranges
from mltune.distil.table import TimeTable
from mltune.distil.tiles import fit_tiles
from mltune.selector import Leaf, Regret

Method = Callable[[TimeTable, Settings], Fitted]

AUTO = "auto"

METHODS: dict[str, Method] = {
    "formulas": fit_formulas,
    "tree": fit,
    "tensile": fit_ranges,
    "autogemm": fit_tiles,
}

SINGLE = "single best kernel"

_CANDIDATES = ("formulas", "tree")


def fit_single(table: TimeTable, settings: Settings) -> Fitted:
    """The kernel that loses least on all sizes, of those that are right on the most of them."""
    solved = np.isfinite(table.seconds).sum(axis=0)
    losses = table.size_weights @ table.log_ratios
    best = int(np.argmin(np.where(solved == solved.max(), losses, np.inf)))
    return Fitted((best,), Leaf(0))


def beats_single(regrets: Mapping[str, Regret], rule: str) -> bool:
    """Whether a rule is faster than a single kernel in the mean, and not slower at the worst."""
    ours, single = regrets[rule], regrets[SINGLE]
    return ours.geomean > single.geomean and ours.worst >= single.worst


def best_rule(regrets: Mapping[str, Regret]) -> str:
    """The rule that ships unless another is asked for, by how all did in cross-validation.

    That is formulas or a tree, what is faster in the mean, if it beats a single kernel. Otherwise,
    or where nothing could be judged, it is that kernel: a rule that is worse has only found luck.
    """
    if not regrets:
        return SINGLE
    better = [rule for rule in _CANDIDATES if beats_single(regrets, rule)]
    return max(better, key=lambda rule: regrets[rule].geomean, default=SINGLE)


def fit_rule(rule: str, table: TimeTable, settings: Settings) -> Fitted:
    """Fit a method, or find the single kernel."""
    return METHODS.get(rule, fit_single)(table, settings)
