"""A decision tree in arrays: grown by scikit-learn, then each split is optimised, then pruned.

The classifier grows a tree greedily by labels. Then every split, from the leaves up, is replaced
by the one that saves most time on further sizes, given the subtrees on both sides (tree
alternating optimisation). Growing takes most of the time, and with this step a tree that was grown
on few sizes is as good as one grown on three times as many.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mltune.distil.columns import Columns
from mltune.selector import Leaf, Split, Tree

Array = NDArray[np.float64]
Ranks = NDArray[np.int16]
Numbers = NDArray[np.intp]

BINS = 512
"""The most thresholds of a feature that are tried."""

_ROWS = 50_000
"""Sizes whose costs are added up at a time, which limits the memory."""

_FEW = 500
"""Fewer sizes are added up for all features at once."""

_BLOCK = 1_000
"""Sizes whose bins are copied at a time."""

_HALVINGS = 50
"""Of the range in which the price of a leaf is."""


@dataclass(frozen=True, slots=True, eq=False)
class Thresholds:
    """The possible splits: whether a feature's value is at most the upper end of a bin.

    Attributes:
        below: for each feature the largest value of each bin.
        above: the next larger value that was seen; the same value if there is none.
    """

    below: Mapping[str, NDArray[np.int64]]
    above: Mapping[str, NDArray[np.int64]]

    @classmethod
    def of(cls, asked: Columns) -> Thresholds:
        """Make bins with about equally many sizes, for all features that are not constant."""
        below, above = {}, {}
        for name, column in asked.items():
            if column.min() == column.max():
                continue
            values = np.sort(column)
            places = np.linspace(0, len(values) - 1, min(BINS, len(values))).astype(np.intp)
            below[name] = np.unique(values[places])
            after = np.searchsorted(values, below[name], side="right")
            above[name] = values[np.minimum(after, len(values) - 1)]
        return cls(below, above)

    def ranks(self, asked: Columns) -> Ranks:
        """Return the bins of sizes, a row for each and a column for each feature.

        A value above all that were seen is in the last bin, as no split is beyond that.
        """
        found = np.empty((len(next(iter(asked.values()))), len(self.below)), dtype=np.int16)
        for column, (name, below) in enumerate(self.below.items()):
            found[:, column] = np.minimum(_bins(below, asked[name]), len(below) - 1)
        return found

    def question(self, feature: int, rank: int) -> tuple[str, int]:
        """Return a feature's name, and a threshold between the bin and the next value."""
        name = list(self.below)[feature]
        return name, math.isqrt(int(self.below[name][rank]) * int(self.above[name][rank]))


@dataclass(frozen=True, slots=True, eq=False)
class Questions:
    """A tree whose nodes have numbers; children come after their parents.

    Attributes:
        feature: of each node's split; -1 at a leaf.
        rank: the last bin that goes to the low side.
        low: the node on that side.
        high: the node on the other side.
    """

    feature: Numbers
    rank: Numbers
    low: Numbers
    high: Numbers

    @classmethod
    def grown(
        cls,
        ranks: Ranks,
        labels: Numbers,
        weights: Array,
        *,
        max_leaves: int,
        max_depth: int,
        least: int,
        seed: int,
    ) -> Questions:
        """Let scikit-learn grow a tree; its float32 holds ranks exactly.

        Args:
            ranks: of the sizes.
            labels: the right answer for each size.
            weights: the cost of a wrong answer there.
            max_leaves: of the tree.
            max_depth: splits on a path.
            least: sizes in a leaf.
            seed: of ties between splits.
        """
        from sklearn.tree import DecisionTreeClassifier  # takes a second to load

        model = DecisionTreeClassifier(
            max_leaf_nodes=max_leaves,
            max_depth=max_depth,
            min_samples_leaf=least,
            random_state=seed,
        )
        # Its checks are not needed: there are no gaps, and the type is right.
        model.fit(ranks.astype(np.float32), labels, sample_weight=weights, check_input=False)
        fitted = model.tree_
        is_leaf = fitted.children_left < 0
        return cls(
            np.where(is_leaf, -1, fitted.feature),
            np.where(is_leaf, 0, np.floor(fitted.threshold)).astype(np.intp),
            np.asarray(fitted.children_left, dtype=np.intp),
            np.asarray(fitted.children_right, dtype=np.intp),
        )

    def inside(self, ranks: Ranks) -> list[Numbers]:
        """Return the rows of the sizes that reach each node."""
        found = [np.arange(len(ranks))] * len(self.feature)
        for node in np.flatnonzero(self.feature >= 0).tolist():
            rows = found[node]
            is_low = ranks[rows, self.feature[node]] <= self.rank[node]
            found[self.low[node]], found[self.high[node]] = rows[is_low], rows[~is_low]
        return found

    def sums(self, ranks: Ranks, costs: Array) -> Array:
        """Return the cost of each answer on the sizes of each node, a row for each node."""
        found = np.zeros((len(self.feature), costs.shape[1]))
        inside = self.inside(ranks)
        for node in range(len(self.feature) - 1, -1, -1):
            if self.feature[node] < 0:
                found[node] = costs[inside[node]].sum(axis=0)
            else:
                found[node] = found[self.low[node]] + found[self.high[node]]
        return found

    def asked_anew(self, ranks: Ranks, costs: Array) -> Questions:
        """Replace each split by the one that saves most, from the leaves up.

        Args:
            ranks: of sizes.
            costs: of each answer on each size.
        """
        anew = replace(self, feature=self.feature.copy(), rank=self.rank.copy())
        answers = self.sums(ranks, costs).argmin(axis=1)
        used = np.unique(self.feature[self.feature >= 0])
        asked = ranks.take(used, axis=1)
        inside = self.inside(ranks)
        # By size, the answer of the largest subtree on its way whose splits were chosen anew.
        current = np.empty(len(ranks), dtype=np.intp)
        for leaf in np.flatnonzero(self.feature < 0).tolist():
            current[inside[leaf]] = answers[leaf]
        for node in np.flatnonzero(self.feature >= 0)[::-1].tolist():
            rows = inside[node]
            # The tree's answer on the side that a size took is known; only the other side's is
            # looked up.
            is_low = ranks[rows, self.feature[node]] <= self.rank[node]
            low, high = current[rows], current[rows]
            low[~is_low] = anew._answers(self.low[node], ranks, rows[~is_low], answers)
            high[is_low] = anew._answers(self.high[node], ranks, rows[is_low], answers)
            lost = costs[rows, low] - costs[rows, high]
            differs = np.flatnonzero(lost)
            if not len(differs):
                continue
            more_up_to = _by_bin(asked, rows[differs], lost[differs]).cumsum(axis=1)
            best, rank = divmod(int(more_up_to.argmin()), BINS)
            now = more_up_to[np.searchsorted(used, anew.feature[node]), anew.rank[node]]
            if more_up_to[best, rank] < now - 1e-9:
                anew.feature[node], anew.rank[node] = used[best], rank
                is_low = ranks[rows, anew.feature[node]] <= rank
            current[rows] = np.where(is_low, low, high)
        return anew

    def _answers(self, top: int, ranks: Ranks, rows: Numbers, answers: Numbers) -> Numbers:
        """Return the answers of a subtree on some sizes."""
        found = np.empty(len(rows), dtype=np.intp)
        ahead = [(top, np.arange(len(rows)))]
        while ahead:
            node, here = ahead.pop()
            if self.feature[node] < 0:
                found[here] = answers[node]
            elif len(here):
                is_low = ranks[rows[here], self.feature[node]] <= self.rank[node]
                ahead += [(self.low[node], here[is_low]), (self.high[node], here[~is_low])]
        return found

    def pruned(
        self, answers: Sequence[tuple[Leaf, float]], thresholds: Thresholds, max_leaves: int
    ) -> Tree:
        """Build the tree from its leaves up, without the splits that save least.

        Minimal cost-complexity pruning (Breiman, Friedman, Olshen and Stone, Classification and
        Regression Trees, 1984, chapter 3): a leaf has a price, the least with which so many leaves
        suffice, and a subtree stays if it saves more than its further leaves cost.

        Args:
            answers: the leaf that each node would be, and its cost on the node's sizes.
            thresholds: of the ranks.
            max_leaves: of the tree; about so many stay.
        """
        low, high = 0.0, answers[0][1] + 1e-9
        ends, leaves = self._ends(answers, low)
        if leaves > max_leaves:
            for _ in range(_HALVINGS):
                price = (low + high) / 2
                tried, leaves = self._ends(answers, price)
                if leaves > max_leaves:
                    low = price
                else:
                    high, ends = price, tried
        return self._built(0, ends, answers, thresholds)

    def _ends(
        self, answers: Sequence[tuple[Leaf, float]], price: float
    ) -> tuple[NDArray[np.bool_], int]:
        """Find the nodes whose subtrees save no more than their further leaves cost.

        Returns:
            Whether each node is one, or a leaf; and how many leaves the tree has without the nodes
            below them.
        """
        ends = self.feature < 0
        least = np.array([cost for _, cost in answers]) + price
        leaves = np.ones(len(ends), dtype=np.intp)
        for node in np.flatnonzero(~ends)[::-1].tolist():
            low, high = self.low[node], self.high[node]
            split = least[low] + least[high]
            ends[node] = least[node] <= split + 1e-9
            least[node] = min(least[node], split)
            leaves[node] = 1 if ends[node] else leaves[low] + leaves[high]
        return np.asarray(ends), int(leaves[0])

    def _built(
        self,
        node: int,
        ends: NDArray[np.bool_],
        answers: Sequence[tuple[Leaf, float]],
        thresholds: Thresholds,
    ) -> Tree:
        if ends[node]:
            return answers[node][0]
        low, high = (
            self._built(int(below[node]), ends, answers, thresholds)
            for below in (self.low, self.high)
        )
        if low == high:
            return low
        question = thresholds.question(int(self.feature[node]), int(self.rank[node]))
        return Split(*question, low, high)


def _by_bin(ranks: Ranks, rows: Numbers, costs: Array) -> Array:
    """Return the sum of the costs of some rows by feature and bin."""
    features = ranks.shape[1]
    if len(rows) < _FEW:
        places = ranks.take(rows, axis=0) + np.arange(0, features * BINS, BINS)
        weights = np.repeat(costs.astype(np.float64), features)
        added = np.bincount(places.ravel(), weights, features * BINS)
        return np.asarray(added.reshape(features, BINS), dtype=np.float64)
    found = np.zeros((features, BINS))
    for first in range(0, len(rows), _ROWS):
        part = slice(first, first + _ROWS)
        weights = costs[part].astype(np.float64)
        # One feature after the other, as its sums fit into the fastest cache.
        for sums, bins in zip(found, _turned(ranks, rows[part]), strict=True):
            sums += np.bincount(bins, weights, BINS)
    return found


def _turned(ranks: Ranks, rows: Numbers) -> Ranks:
    """Return some rows as columns, copied in blocks that fit into a cache."""
    found = np.empty((ranks.shape[1], len(rows)), dtype=ranks.dtype)
    for first in range(0, len(rows), _BLOCK):
        part = slice(first, first + _BLOCK)
        found[:, part] = ranks.take(rows[part], axis=0).T
    return found


def _bins(below: NDArray[np.int64], values: NDArray[np.int64]) -> NDArray[np.intp]:
    """The bin of each whole number from 0 on; small numbers use a table, which takes a tenth."""
    most = int(values.max(initial=0))
    if most >= len(values):
        return np.searchsorted(below, values)
    return np.searchsorted(below, np.arange(most + 1))[values]
