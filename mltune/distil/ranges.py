"""Tensile's library logic: nested thresholds on M, then N, then K, then the batch.

The algorithm of Tanner's paper (section IV.D) splits by the first extent, within each range by the
second, and so on, each time by a chain of thresholds. As in Tensile, neighbouring extents share a
rule if that loses less than `RULE_WORTH`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from mltune.distil.fit import Fitted, Settings
from mltune.distil.portfolio import cover
from mltune.distil.table import Size, TimeTable
from mltune.selector import MAX_DEPTH, Leaf, Split, Tree

RULE_WORTH = 0.02
"""A further rule has to save 2 % on one size, which is about the accuracy of a measurement."""

_AXES = ("m", "n", "k", "batch")


def fit_ranges(table: TimeTable, settings: Settings) -> Fitted:
    """Split the sizes recursively; every leaf is the kernel that is best on the sizes in it.

    Every kernel that is the fastest on some size may be chosen, up to `settings.max_kernels`.
    """
    portfolio = cover(table, tolerance=0.0, max_kernels=settings.max_kernels)
    costs = table.log_ratios[:, list(portfolio)] * table.size_weights[:, None]
    rules = _Splitter.of(table.sizes, costs).rules(list(range(len(table.sizes))), 0)
    return Fitted(portfolio, rules.tree)


@dataclass(frozen=True, slots=True)
class _Rules:
    """A tree over some sizes.

    Attributes:
        cost: the summed loss on these sizes, plus `RULE_WORTH` for each leaf.
        deepest: splits on its longest path.
    """

    tree: Tree
    cost: float
    deepest: int


@dataclass(frozen=True, slots=True)
class _Splitter:
    """The sizes, the loss of each kernel on each of them, and the rule for each size alone.

    Most groups of sizes are small: there lists are faster than arrays.

    Attributes:
        axes: how many axes can split; on those after them all sizes are equal.
    """

    sizes: Sequence[Size]
    costs: NDArray[np.float64]
    alone: tuple[_Rules, ...]
    axes: int

    @classmethod
    def of(cls, sizes: Sequence[Size], costs: NDArray[np.float64]) -> _Splitter:
        """Compute the rule for each size alone once, as it is needed most often."""
        best = costs.argmin(axis=1).tolist()
        least = (costs.min(axis=1) + RULE_WORTH).tolist()
        alone = (_Rules(Leaf(kernel), cost, 0) for kernel, cost in zip(best, least, strict=True))
        varied = [
            axis for axis, extents in enumerate(zip(*sizes, strict=True)) if len(set(extents)) > 1
        ]
        return cls(sizes, costs, tuple(alone), max(varied, default=-1) + 1)

    def rules(self, rows: list[int], axis: int) -> _Rules:
        """Return the rules for some sizes, from an axis on."""
        if len(rows) == 1:
            return self.alone[rows[0]]
        if axis == self.axes:
            sums = self.costs[rows].sum(axis=0)
            kernel = int(sums.argmin())
            return _Rules(Leaf(kernel), float(sums[kernel]) + RULE_WORTH, 0)
        having: dict[int, list[int]] = {}
        for row in rows:
            having.setdefault(self.sizes[row][axis], []).append(row)
        if len(having) == 1:
            return self.rules(rows, axis + 1)
        slabs: list[tuple[list[int], _Rules]] = []
        for extent in sorted(having):
            new = having[extent]
            alone = self.rules(new, axis + 1)
            if slabs:
                before, rule = slabs[-1]
                both = before + new
                shared = self.rules(both, axis + 1)
                if shared.cost <= rule.cost + alone.cost:
                    slabs[-1] = (both, shared)
                    continue
            slabs.append((new, alone))
        thresholds = [
            # The sizes of a slab are in the order of this extent.
            math.isqrt(self.sizes[low[-1]][axis] * self.sizes[high[0]][axis])
            for (low, _), (high, _) in pairwise(slabs)
        ]
        return _chain(_AXES[axis], thresholds, [rule for _, rule in slabs])


def _chain(
    feature: str, thresholds: Sequence[int], rules: Sequence[_Rules], room: int | None = None
) -> _Rules:
    """Chain thresholds in ascending order, as the paper does; halve a chain that is too deep."""
    if not thresholds:
        return rules[0]
    axes_left = len(_AXES) - _AXES.index(feature)
    room = MAX_DEPTH * axes_left // len(_AXES) if room is None else room
    last = len(thresholds)
    deepest = max(min(place + 1, last) + rule.deepest for place, rule in enumerate(rules))
    if deepest <= room:
        tree = rules[-1].tree
        for threshold, rule in zip(reversed(thresholds), reversed(rules[:-1]), strict=True):
            tree = rule.tree if rule.tree == tree else Split(feature, threshold, rule.tree, tree)
        return _Rules(tree, math.fsum(rule.cost for rule in rules), deepest)
    middle = last // 2
    low = _chain(feature, thresholds[:middle], rules[: middle + 1], room - 1)
    high = _chain(feature, thresholds[middle + 1 :], rules[middle + 1 :], room - 1)
    split = Split(feature, thresholds[middle], low.tree, high.tree)
    return _Rules(split, low.cost + high.cost, 1 + max(low.deepest, high.deepest))
