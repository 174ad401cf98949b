"""Chooses a kernel for a size: a portfolio, and a tree or time formulas that choose from it."""

from mltune.selector.features import FEATURES, feature_value, features
from mltune.selector.formula import INT64_MAX, MOST_EXTENT, TimeFormula, Waves, padding, work_limit
from mltune.selector.rival import Rival
from mltune.selector.selector import (
    LIKELY_PART,
    MAX_DEPTH,
    Choice,
    Leaf,
    LeafLoss,
    PortfolioKernel,
    Reason,
    Regret,
    Rule,
    Selector,
    Split,
    Tree,
    depth,
    ends,
    leaves,
    nodes,
    walk,
)

__all__ = [
    "FEATURES",
    "INT64_MAX",
    "LIKELY_PART",
    "MAX_DEPTH",
    "MOST_EXTENT",
    "Choice",
    "Leaf",
    "LeafLoss",
    "PortfolioKernel",
    "Reason",
    "Regret",
    "Rival",
    "Rule",
    "Selector",
    "Split",
    "TimeFormula",
    "Tree",
    "Waves",
    "depth",
    "ends",
    "feature_value",
    "features",
    "leaves",
    "nodes",
    "padding",
    "walk",
    "work_limit",
]
