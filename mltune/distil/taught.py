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

SIZES_EACH = 1000
"""Drawn for each measured size: what few sizes taught needs few to be learned."""

LEAST_SIZES, MOST_SIZES = 4_000, 250_000
JUDGED_PART = 4
"""Trees that are only judged learn from so much less, which flatters no tree that ships."""

MOST_LEAVES = 1024
"""Before some are taken back: about 30 KB of code for x86-64. Twice as many lost 0.1 % less, and
took twice as long to look up.
"""

LEAST_IN_LEAF = 3
CHECKED = 5
"""One size in so many is kept apart, and tells which questions to take back."""

MOST_COST = 1.0
"""A loss of more than this (as a log ratio) weighs no more: it is wrong enough."""

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
    lesson = Lesson.of(teacher, drawn_sizes(count, table, settings.seed))
    tree = _grow(lesson, settings.seed)
    asked = Lesson.of(teacher, drawn_sizes(LOSS_SIZES, table, settings.seed + 1, near=0.0))
    losses = asked.losses(tree)
    low = float(np.exp(-np.quantile(losses, 0.99)))
    return Taught(Fitted(teacher.portfolio, tree), teacher, float(losses.mean()), low, asked)


@dataclass(frozen=True, slots=True, eq=False)
class Lesson:
    """Sizes with their features, and what each kernel costs there: log of time / least time."""

    asked: Columns
    costs: Array

    @classmethod
    def of(cls, teacher: Teacher, sizes: Array) -> Lesson:
        """Ask the teacher about sizes: m, n, k and batch, a row each."""
        logs = teacher.log_seconds(sizes)
        costs = logs - logs.min(axis=1, keepdims=True)
        return cls(columns(teacher.formulas, sizes), costs)

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


def _grow(lesson: Lesson, seed: int) -> Tree:
    """Fit the classifier, and take back every question that is worth nothing on other sizes.

    As in `fit.grow_all` the classifier sees ranks, which its float32 holds exactly.
    """
    from sklearn.tree import DecisionTreeClassifier  # a second to load

    asked = {name: each for name, each in lesson.asked.items() if each.min() < each.max()}
    names = list(asked)
    values, ranks = _ranked(asked)
    costs = np.minimum(lesson.costs, MOST_COST)
    # A near tie is nothing to learn; nor is a size where all kernels are alike.
    weights = np.sqrt(np.partition(costs, 1, axis=1)[:, 1] * costs.mean(axis=1)) + 1e-9
    checked = np.arange(len(costs)) % CHECKED == 0
    model = DecisionTreeClassifier(
        max_leaf_nodes=MOST_LEAVES,
        max_depth=MAX_DEPTH - 1,
        min_samples_leaf=LEAST_IN_LEAF,
        random_state=seed,
    )
    learned = ~checked
    model.fit(
        ranks[learned],
        costs[learned].argmin(axis=1),
        sample_weight=weights[learned],
        check_input=False,
    )
    fitted = model.tree_
    sums = _sums(fitted, model.apply(ranks), lesson.costs)
    other = _sums(fitted, model.apply(ranks[checked]), lesson.costs[checked])
    return _pruned(fitted, sums, other, names, values)


def _ranked(asked: Columns) -> tuple[list[NDArray[np.int64]], NDArray[np.float32]]:
    """The distinct values of each feature, and their ranks, a row for each size."""
    pairs = [np.unique(column, return_inverse=True) for column in asked.values()]
    ranks = np.stack([inverse for _, inverse in pairs], axis=1).astype(np.float32)
    return [values for values, _ in pairs], ranks


def _sums(fitted: Any, reached: NDArray[np.intp], costs: Array) -> Array:
    """What each kernel costs on the sizes of each node, summed up."""
    sums = np.zeros((fitted.node_count, costs.shape[1]))
    np.add.at(sums, reached, costs)
    for node in range(fitted.node_count - 1, -1, -1):  # children come after their parents
        if fitted.children_left[node] >= 0:
            sums[node] = sums[fitted.children_left[node]] + sums[fitted.children_right[node]]
    return sums


def _pruned(
    fitted: Any, sums: Array, other: Array, names: list[str], values: list[NDArray[np.int64]]
) -> Tree:
    """The tree from its leaves up; a question stays that saves time on sizes kept apart."""
    built: dict[int, tuple[Tree, float]] = {}
    for node in range(fitted.node_count - 1, -1, -1):
        best = int(sums[node].argmin())
        leaf, cost = Leaf(best), float(other[node, best])
        left, right = int(fitted.children_left[node]), int(fitted.children_right[node])
        if left >= 0:
            (low, low_cost), (high, high_cost) = built.pop(left), built.pop(right)
            if low_cost + high_cost < cost and low != high:
                feature = int(fitted.feature[node])
                rank = math.floor(fitted.threshold[node])
                below, above = values[feature][rank : rank + 2].tolist()
                split = Split(names[feature], math.isqrt(below * above), low, high)
                built[node] = (split, low_cost + high_cost)
                continue
        built[node] = (leaf, cost)
    return built[0][0]
