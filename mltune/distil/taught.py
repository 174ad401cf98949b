"""The student: a decision tree that learns from a teacher on as many sizes as it needs.

Measured sizes are hundreds, and too few to show a tree all the stairs in a GPU's times. The
teacher answers for any size; so the tree sees a hundred thousand, weighted by what a wrong answer
costs, and asks for what the stairs are straight in.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mltune.distil.columns import Columns, columns
from mltune.distil.drawn_sizes import drawn_sizes
from mltune.distil.fit import KEPT, Fitted, Settings
from mltune.distil.table import TimeTable
from mltune.distil.teacher import Teacher, teach
from mltune.selector import MAX_DEPTH, Leaf, Split, Tree

Array = NDArray[np.float64]

SIZES_EACH = 4000
"""Drawn for each measured size: what few sizes taught needs few to be learned."""

LEAST_SIZES, MOST_SIZES = 16_000, 500_000
JUDGED_PART = 4
"""Trees that are only judged learn from so much less, which flatters no tree that ships."""

KEPT_PART = 4
"""The tree sees one drawn size in so many: rather those where a wrong answer costs much, which
count the less for it. On splits 100 and 101 80,000 of 250,000 taught as much as 180,000 at random.
"""

LEAST_CHANCE = 0.05
"""Of a size to be kept, however little it costs there to be wrong."""

MOST_LEAVES = 2048
"""Before some are taken back: less than 64 KB of code for x86-64."""

LEAST_IN_LEAF = 3
CHECKED = 5
"""One size in so many is kept apart, and tells which questions to take back."""

MOST_COST, MOST_MEAN = 1.0, 0.1
"""A loss of more than this (as a log ratio) weighs no more: the second best kernel's, or any
kernel's in the mean of all. With 1.0 for both trees of two runs lost as much to their teachers in
the mean, and half a percent more at the 1st percentile.
"""

LOSS_SIZES = 20_000
"""Drawn anew to measure what a tree loses to its teacher."""


@dataclass(frozen=True, slots=True, eq=False)
class Taught:
    """A tree and its teacher.

    Attributes:
        loss: mean of log(time of the tree's kernel / least time), by the teacher's times, on sizes
            that the tree did not learn from.
        low: 1st percentile of least time / time of the tree's kernel there.
        check: these sizes; None where a single kernel answers for all.
    """

    fitted: Fitted
    teacher: Teacher
    loss: float
    low: float
    check: Lesson | None = None


def fit_taught(table: TimeTable, settings: Settings) -> Fitted:
    """Grow a tree that imitates the teacher of a table; smaller, for judging."""
    return taught(table, settings, JUDGED_PART).fitted


@lru_cache(maxsize=KEPT)
def taught(table: TimeTable, settings: Settings, part: int = 1) -> Taught:
    """Teach a tree.

    Args:
        table: of measured times.
        settings: of portfolio and device, and the seed of the sizes that are drawn.
        part: of how many parts of the sizes it learns from one.
    """
    teacher = teach(table, settings)
    if len(teacher.portfolio) == 1:
        return Taught(Fitted(teacher.portfolio, Leaf(0)), teacher, 0.0, 1.0)
    count = min(max(SIZES_EACH * len(table.sizes), LEAST_SIZES), MOST_SIZES) // part
    drawn = drawn_sizes(count, table, settings.seed)
    apart = np.arange(count) % CHECKED == 0
    lesson = Lesson.of(teacher, drawn[~apart], count // KEPT_PART, settings.seed)
    tree = _grow(lesson, Lesson.of(teacher, drawn[apart]), settings.seed)
    asked = Lesson.of(teacher, drawn_sizes(LOSS_SIZES, table, settings.seed + 1, near=0.0))
    losses = asked.losses(tree)
    low = float(np.exp(-np.quantile(losses, 0.99)))
    return Taught(Fitted(teacher.portfolio, tree), teacher, float(losses.mean()), low, asked)


@dataclass(frozen=True, slots=True, eq=False)
class Lesson:
    """What each kernel costs on many sizes.

    Attributes:
        asked: the features of the sizes.
        costs: log of time / least time, a row for each size and a column for each kernel.
        counts: for how many drawn sizes each of them stands.
    """

    asked: Columns
    costs: Array
    counts: Array

    @classmethod
    def of(cls, teacher: Teacher, sizes: Array, most: int | None = None, seed: int = 0) -> Lesson:
        """Ask the teacher about sizes.

        Args:
            teacher: knows all times.
            sizes: m, n, k and batch, a row each.
            most: about so many are kept; None for all. Rather those where it costs much to be
                wrong are kept, and count the less for it.
            seed: of the choice.
        """
        logs = teacher.log_seconds(sizes)
        costs = logs - logs.min(axis=1, keepdims=True)
        kept, counts = np.arange(len(costs)), np.ones(len(costs))
        if most is not None and most < len(costs):
            chances = _chances(_weights(costs), most)
            kept = np.flatnonzero(np.random.default_rng(seed).random(len(costs)) < chances)
            counts = 1 / chances[kept]
        return cls(columns(teacher.formulas, sizes[kept]), costs[kept], counts)

    def losses(self, tree: Tree) -> Array:
        """What the kernels cost that a tree chooses."""
        found = np.empty(len(self.costs))
        ahead = [(tree, np.arange(len(self.costs)))]
        while ahead:
            node, rows = ahead.pop()
            if isinstance(node, Leaf):
                found[rows] = self.costs[rows, node.kernel]
                continue
            is_low = self.asked[node.feature][rows] <= node.threshold
            ahead += [(node.low, rows[is_low]), (node.high, rows[~is_low])]
        return found


def _weights(costs: Array) -> Array:
    """What it costs to be wrong: nothing at a near tie, nor where all kernels are alike."""
    second = np.minimum(np.partition(costs, 1, axis=1)[:, 1], MOST_COST)
    return np.asarray(np.sqrt(second * np.minimum(costs, MOST_MEAN).mean(axis=1)) + 1e-9)


def _chances(weights: Array, count: int) -> Array:
    """By weight, from `LEAST_CHANCE` to 1, so that about so many sizes are kept."""
    low, high = 1e-12, float(weights.sum())
    for _ in range(60):
        scale = math.sqrt(low * high)
        is_too_many = np.clip(weights / scale, LEAST_CHANCE, 1.0).sum() > count
        low, high = (scale, high) if is_too_many else (low, scale)
    return np.clip(weights / high, LEAST_CHANCE, 1.0)


def _grow(lesson: Lesson, apart: Lesson, seed: int) -> Tree:
    """Fit the classifier, and take back every question that is worth nothing on sizes kept apart.

    As in `fit.grow_all` the classifier sees ranks, which its float32 holds exactly.
    """
    from sklearn.tree import DecisionTreeClassifier  # a second to load

    asked = {name: each for name, each in lesson.asked.items() if each.min() < each.max()}
    values, ranks = _ranked(asked)
    model = DecisionTreeClassifier(
        max_leaf_nodes=MOST_LEAVES,
        max_depth=MAX_DEPTH - 1,
        min_samples_leaf=LEAST_IN_LEAF,
        random_state=seed,
    )
    weights = _weights(lesson.costs) * lesson.counts
    model.fit(ranks, lesson.costs.argmin(axis=1), sample_weight=weights, check_input=False)
    grown = _Grown.of(model.tree_, list(asked), values)
    other = grown.sums(apart)
    return grown.pruned(grown.sums(lesson) + other, other)


def _ranked(asked: Columns) -> tuple[list[NDArray[np.int64]], NDArray[np.float32]]:
    """The distinct values of each feature, and their ranks, a row for each size."""
    pairs = [np.unique(column, return_inverse=True) for column in asked.values()]
    ranks = np.stack([inverse for _, inverse in pairs], axis=1).astype(np.float32)
    return [values for values, _ in pairs], ranks


@dataclass(frozen=True, slots=True)
class _Node:
    """A question, and the numbers of the nodes that it leads to; no question at a leaf."""

    feature: str = ""
    threshold: int = 0
    low: int = -1
    high: int = -1


@dataclass(frozen=True, slots=True)
class _Grown:
    """What the classifier asks, in whole numbers; children come after their parents."""

    nodes: tuple[_Node, ...]

    @classmethod
    def of(cls, fitted: Any, names: list[str], values: list[NDArray[np.int64]]) -> _Grown:
        """Read a fitted tree over the ranks of values."""
        nodes: list[_Node] = []
        for number in range(fitted.node_count):
            low, high = int(fitted.children_left[number]), int(fitted.children_right[number])
            if low < 0:
                nodes.append(_Node())
                continue
            feature, rank = int(fitted.feature[number]), math.floor(fitted.threshold[number])
            below, above = values[feature][rank : rank + 2].tolist()
            nodes.append(_Node(names[feature], math.isqrt(below * above), low, high))
        return cls(tuple(nodes))

    def sums(self, lesson: Lesson) -> Array:
        """What each kernel costs on the sizes of each node, summed up."""
        sums = np.zeros((len(self.nodes), lesson.costs.shape[1]))
        inside = {0: np.arange(len(lesson.costs))}
        for number, node in enumerate(self.nodes):
            rows = inside.pop(number)
            if not node.feature:
                sums[number] = lesson.counts[rows] @ lesson.costs[rows]
                continue
            is_low = lesson.asked[node.feature][rows] <= node.threshold
            inside[node.low], inside[node.high] = rows[is_low], rows[~is_low]
        for number in range(len(self.nodes) - 1, -1, -1):
            node = self.nodes[number]
            if node.feature:
                sums[number] = sums[node.low] + sums[node.high]
        return sums

    def pruned(self, sums: Array, other: Array) -> Tree:
        """The tree from its leaves up; a question stays that saves time on sizes kept apart."""
        built: dict[int, tuple[Tree, float]] = {}
        for number in range(len(self.nodes) - 1, -1, -1):
            node, best = self.nodes[number], int(sums[number].argmin())
            built[number] = Leaf(best), float(other[number, best])
            if node.feature:
                (low, low_cost), (high, high_cost) = built.pop(node.low), built.pop(node.high)
                if low_cost + high_cost < built[number][1] and low != high:
                    split = Split(node.feature, node.threshold, low, high)
                    built[number] = split, low_cost + high_cost
        return built[0][0]
