"""The student: a decision tree that learns from a teacher on as many sizes as it needs.

Hundreds of measured sizes are too few to show a tree all the steps in a GPU's times. The teacher
predicts the times of any size, so the tree learns from a hundred thousand sizes, weighted by the
cost of a wrong answer. Its features are those in which the steps are straight lines.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mltune.distil.columns import Columns, columns
from mltune.distil.drawn_sizes import Seed, drawn_sizes
from mltune.distil.fit import Fitted, Settings
from mltune.distil.formula_times import log_seconds
from mltune.distil.pairs import Logs, Numbers, best_pair, chosen
from mltune.distil.questions import Questions, Ranks, Thresholds
from mltune.distil.table import TimeTable
from mltune.distil.teacher import Teacher, teach
from mltune.selector import MAX_DEPTH, Leaf, Tree

Array = NDArray[np.float64]

SIZES_EACH = 6000
"""Sizes drawn for each measured size; a teacher of few sizes is simple, and needs fewer."""

LEAST_SIZES, MOST_SIZES = 16_000, 1_500_000
"""With 500,000, trees of 24 kernels lost 0.23 to 0.26 % to their teachers (hgemm, dgemm and four
runs of an H200, split 100), with three times as many 0.15 to 0.20 %.
"""

DRAWN_AT_ONCE = 250_000
BYTES_EACH = 10**9
"""About what the tree of 419 sizes and 33 kernels takes, with so many drawn at a time."""

KEPT_SHARE = 0.4
"""The tree sees this share of the drawn sizes, mostly those where a wrong answer costs much by the
formulas; their weight is lower in return. Four runs of an H200, split 100: with 0.3 it lost 0.34 %
to the teacher, with 0.6 0.24 %, in 1.7 times the time.
"""

LEAST_CHANCE = 0.05
"""The least probability that a size is kept."""

MOST_LEAVES, LEAST_LEAVES, LEAVES_FOR_SIZE = 1640, 500, 0.6
"""Before pruning: without sizes in the map, and at least, and the leaves whose room a size takes.

Then tree and map of 30 kernels and 130 to 635 sizes take at most 62.4 KB on x86-64 (gcc 12, -O2);
with 1,720, one of 635 sizes took 64.9 KB.
With 1,100 leaves a tree lost 0.24 % to its teacher on sizes near measured ones and had 0.983 of
the best known speed on held-out ones, with 1,400 0.22 % and 0.984, with 1,800 0.20 % and 0.985,
with 2,500 0.18 % and 0.986 (hgemm on an H200, split 100).
"""

MANY_KERNELS, LEAVES_FOR_KERNEL = 32, 10
"""From so many kernels on, each further one takes the room of so many leaves: the time formulas of
eight more took 4 KB, and three of twelve trees 65.6 to 65.8 KB.
"""

GROWN_LEAVES = 3
"""The tree grows to so many times its leaves, and is pruned to these.

Growing does not know that a leaf may compare two kernels, and splits what the comparison tells.
With 1, trees of half (an H200, splits 100 and 101; `LEAST_SAVED` 0.002) had 0.9855 of the best
known speed on held-out sizes, with 3 0.9866, and with 6 no more.
"""

GROWN_PART, LEAST_GROWN = 3, 8_000
"""The classifier grows the tree on 1 / this of the sizes; the splits are optimised on all.

Four runs of an H200, split 100, 250,000 kept: 0.24 % lost to the teacher, with a sixth 0.28 %.
"""

LEAST_SAVED = 0.001
"""A leaf compares two kernels if that saves so much of the time of its sizes.

The comparison takes longer than all questions before it. Trees of half, single NT and double (an
H200, splits 100 and 101) had 0.9869, 0.9885 and 0.9851 of the best known speed on held-out sizes
and lost 0.09 to 0.11 % to their teachers elsewhere; with 0.002 0.9866, 0.9882 and 0.9852, and 0.10
to 0.12 %. A look-up takes 0.5 to 1 ns longer.
"""

LEAST_IN_LEAF = 3
CHECKED = 5
"""One kept size in this many chooses no split, and is used to decide which splits to prune."""

MOST_COST, MOST_MEAN = 1.0, 0.1
"""Losses (log ratios) are cut at these values in a size's weight: that of the second best kernel,
and that of each kernel in the mean over all. With 1.0 for both, trees of two runs lost as much to
their teachers in the mean, and half a percent more at the 1st percentile.
"""

LOSS_SIZES = 20_000
"""Sizes drawn anew to measure a tree's loss to its teacher."""


@dataclass(frozen=True, slots=True, eq=False)
class Taught:
    """A tree and its teacher.

    Attributes:
        loss: mean of log(time of the tree's kernel / least time), by the teacher's times, on sizes
            that the tree did not learn from.
        low: 1st percentile of least time / time of the tree's kernel there.
        check: these sizes; None if there is a single kernel.
    """

    fitted: Fitted
    teacher: Teacher
    loss: float
    low: float
    check: Lesson | None = None


def fit_taught(table: TimeTable, settings: Settings) -> Fitted:
    """Grow a tree that imitates the teacher of a table.

    Args:
        table: of measured times.
        settings: of portfolio and device, and the seed of the sizes that are drawn.
    """
    teacher = teach(table, settings)
    if len(teacher.portfolio) == 1:
        return Fitted(teacher.portfolio, Leaf(0))
    count = min(max(SIZES_EACH * len(table.sizes), LEAST_SIZES), MOST_SIZES)
    course = _Course.of(teacher, table, count, settings.seed)
    return Fitted(teacher.portfolio, _grow(course), teacher=teacher.tells)


def taught(table: TimeTable, settings: Settings) -> Taught:
    """Grow the tree that ships, and measure its loss to its teacher."""
    teacher, fitted = teach(table, settings), fit_taught(table, settings)
    if len(teacher.portfolio) == 1:
        return Taught(fitted, teacher, 0.0, 1.0)
    asked = Lesson.of(teacher, drawn_sizes(LOSS_SIZES, table, settings.seed + 1, near=0.0))
    losses = asked.losses(fitted.tree)
    low = float(np.exp(-np.quantile(losses, 0.99)))
    return Taught(fitted, teacher, float(losses.mean()), low, asked)


@dataclass(frozen=True, slots=True, eq=False)
class Lesson:
    """The cost of each kernel on many sizes.

    Attributes:
        asked: the features of the sizes.
        costs: log of time / least time, a row for each size and a column for each kernel.
        counts: how many drawn sizes each size stands for.
        logs: of the times that formulas expect; None if they do not tell.
    """

    asked: Columns
    costs: Array
    counts: Array
    logs: Logs | None

    @classmethod
    def of(cls, teacher: Teacher, sizes: Array, most: int | None = None, seed: Seed = 0) -> Lesson:
        """Predict the times of sizes by the teacher.

        Args:
            teacher: predicts all times.
            sizes: m, n, k and batch, a row each.
            most: about how many are kept; None for all. Sizes where a wrong answer costs much are
                kept more often, and count less in return.
            seed: of the choice.
        """
        logs, counts = log_seconds(teacher.formulas, sizes), np.ones(len(sizes))
        if most is not None and most < len(sizes):
            chances = _chances(_weights(_above_least(teacher.roughly(sizes, logs))), most)
            rows = np.flatnonzero(np.random.default_rng(seed).random(len(sizes)) < chances)
            sizes, logs, counts = sizes[rows], logs[rows], 1 / chances[rows]
        costs = _above_least(teacher.log_seconds(sizes, logs))
        told = logs.astype(np.float32) if teacher.tells else None
        return cls(columns(teacher.formulas, sizes), costs, counts, told)

    def losses(self, tree: Tree) -> Array:
        """Return the cost of the kernels that a tree chooses, for each size."""
        found = np.empty(len(self.costs))
        ahead = [(tree, np.arange(len(self.costs)))]
        while ahead:
            node, rows = ahead.pop()
            if isinstance(node, Leaf):
                found[rows] = self.costs[rows, self.chosen(node, rows)]
                continue
            is_low = self.asked[node.feature][rows] <= node.threshold
            ahead += [(node.low, rows[is_low]), (node.high, rows[~is_low])]
        return found

    def chosen(self, leaf: Leaf, rows: Numbers) -> Numbers:
        """Return the kernel that a leaf chooses for each of some sizes."""
        return chosen(leaf, self.logs, rows)


def _above_least(logs: Array) -> Array:
    return np.asarray(logs - logs.min(axis=1, keepdims=True))


def _weights(costs: Array) -> Array:
    """Return the cost of a wrong answer: 0 at a tie of the best two, or if all are alike."""
    second = np.minimum(np.partition(costs, 1, axis=1)[:, 1], MOST_COST)
    return np.asarray(np.sqrt(second * np.minimum(costs, MOST_MEAN).mean(axis=1)) + 1e-9)


def _chances(weights: Array, count: int) -> Array:
    """Return probabilities from `LEAST_CHANCE` to 1, in proportion to the weights, with a sum."""
    low, high = 1e-12, float(weights.sum())
    for _ in range(60):
        scale = math.sqrt(low * high)
        is_too_many = np.clip(weights / scale, LEAST_CHANCE, 1.0).sum() > count
        low, high = (scale, high) if is_too_many else (low, scale)
    return np.clip(weights / high, LEAST_CHANCE, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class _Course:
    """Many lessons, in which a tree is grown.

    Attributes:
        thresholds: the possible splits.
        ranks: of the sizes.
        costs: as in a lesson, in single precision, which halves the memory.
        counts: likewise.
        logs: as in a lesson.
        seed: of everything that is drawn.
        most_leaves: of the tree.
    """

    thresholds: Thresholds
    ranks: Ranks
    costs: Array
    counts: Array
    logs: Logs | None
    seed: int
    most_leaves: int

    @classmethod
    def of(cls, teacher: Teacher, table: TimeTable, count: int, seed: int) -> _Course:
        """Draw sizes near those of a table and elsewhere, and keep `KEPT_SHARE` of them."""
        thresholds: Thresholds | None = None
        ranks: list[Ranks] = []
        costs: list[Array] = []
        counts: list[Array] = []
        logs: list[Logs] = []
        for first in range(0, count, DRAWN_AT_ONCE):
            drawn = drawn_sizes(min(DRAWN_AT_ONCE, count - first), table, (seed, first))
            lesson = Lesson.of(teacher, drawn, round(KEPT_SHARE * len(drawn)), (seed, first))
            thresholds = thresholds or Thresholds.of(lesson.asked)
            ranks.append(thresholds.ranks(lesson.asked))
            costs.append(lesson.costs.astype(np.float32))
            counts.append(lesson.counts.astype(np.float32))
            logs += [] if lesson.logs is None else [lesson.logs]
        assert thresholds is not None
        further = max(costs[0].shape[1] - MANY_KERNELS, 0)
        taken = round(LEAVES_FOR_SIZE * len(table.sizes)) + LEAVES_FOR_KERNEL * further
        return cls(
            thresholds=thresholds,
            ranks=np.concatenate(ranks),
            costs=np.concatenate(costs),
            counts=np.concatenate(counts),
            logs=np.concatenate(logs) if logs else None,
            seed=seed,
            most_leaves=max(MOST_LEAVES - taken, LEAST_LEAVES),
        )


def _grow(course: _Course) -> Tree:
    """Grow a tree on some sizes, optimise its splits on most, and prune it by all."""
    apart = np.arange(len(course.ranks)) % CHECKED == 0
    ranks, costs, counts = (each[~apart] for each in (course.ranks, course.costs, course.counts))
    grown_on = max(len(ranks) // GROWN_PART, min(len(ranks), LEAST_GROWN))
    questions = Questions.grown(
        ranks[:grown_on],
        costs[:grown_on].argmin(axis=1),
        _weights(costs[:grown_on]) * counts[:grown_on],
        max_leaves=GROWN_LEAVES * course.most_leaves,
        max_depth=MAX_DEPTH - 1,
        least=LEAST_IN_LEAF,
        seed=course.seed,
    ).asked_anew(ranks, costs * counts[:, None])
    weighted = course.costs * course.counts[:, None]
    answers = [_answer(rows, course, weighted, apart) for rows in questions.inside(course.ranks)]
    return questions.pruned(answers, course.thresholds, course.most_leaves)


def _answer(
    rows: Numbers, course: _Course, costs: Array, apart: NDArray[np.bool_]
) -> tuple[Leaf, float]:
    """Return the best leaf for some sizes, and its cost on all of them.

    Args:
        rows: of the sizes.
        course: with its sizes.
        costs: weighted.
        apart: the sizes that choose no pair.
    """
    here = costs.take(rows, axis=0)
    totals = here.sum(axis=0, dtype=np.float64)
    best = int(totals.argmin())
    one = Leaf(best), float(totals[best])
    if course.logs is None:
        return one
    is_seen = ~apart[rows]
    pair = best_pair(here[is_seen], course.logs, rows[is_seen])
    if pair is None:
        return one
    answer = chosen(pair, course.logs, rows)
    lost = here[np.arange(len(rows)), answer]
    cost = float(lost.sum() + LEAST_SAVED * course.counts[rows].sum())
    return (pair, cost) if cost < one[1] else one
