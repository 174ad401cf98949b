"""Which kernel for which size: a portfolio, a tree over it, and how to walk the tree."""

from mltune.selector.selector import (
    FEATURES,
    INT64_MAX,
    MAX_DEPTH,
    Choice,
    Leaf,
    PortfolioKernel,
    Reason,
    Regret,
    Selector,
    Split,
    Tree,
    depth,
    features,
    leaves,
    nodes,
    walk,
)

__all__ = [
    "FEATURES",
    "INT64_MAX",
    "MAX_DEPTH",
    "Choice",
    "Leaf",
    "PortfolioKernel",
    "Reason",
    "Regret",
    "Selector",
    "Split",
    "Tree",
    "depth",
    "features",
    "leaves",
    "nodes",
    "walk",
]
