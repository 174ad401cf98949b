"""The loss of each leaf of a tree: on its measured sizes, and by the teacher's times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mltune.distil.table import GAP, Size
from mltune.distil.taught import Lesson
from mltune.selector import Leaf, LeafLoss, Split, Tree, feature_value, features

Rows = NDArray[np.intp]


def with_losses(
    tree: Tree, sizes: Sequence[Size], losses: Sequence[float], check: Lesson | None
) -> Tree:
    """Return the same tree, whose leaves state their losses.

    Args:
        tree: the rule.
        sizes: that were measured.
        losses: log of chosen time / best time of each, in cross-validation; `GAP` where the chosen
            kernel has no time, which is not counted.
        check: sizes that the tree did not learn from, with the teacher's times; None for none.
    """
    values = [features(*size) for size in sizes]
    known = np.array(losses)

    def state(node: Tree, here: Rows, drawn: Rows) -> Tree:
        if isinstance(node, Leaf):
            told = known[here][known[here] != GAP]
            expected = None
            if check is not None and len(drawn):
                costs = check.costs[drawn, check.chosen(node, drawn)]
                expected = float(np.exp(-costs.mean()))
            if not len(told):
                return replace(node, loss=LeafLoss(sizes=0, expected=expected))
            geomean, worst = float(np.exp(-told.mean())), float(np.exp(-told.max()))
            loss = LeafLoss(sizes=len(told), geomean=geomean, worst=worst, expected=expected)
            return replace(node, loss=loss)
        asked = [feature_value(values[row], node.feature) <= node.threshold for row in here]
        is_low = np.array(asked, dtype=np.bool_)
        also = np.zeros(len(drawn), dtype=np.bool_)
        if check is not None:
            also = check.asked[node.feature][drawn] <= node.threshold
        low = state(node.low, here[is_low], drawn[also])
        high = state(node.high, here[~is_low], drawn[~also])
        return Split(node.feature, node.threshold, low, high)

    count = 0 if check is None else len(check.costs)
    return state(tree, np.arange(len(sizes)), np.arange(count))
