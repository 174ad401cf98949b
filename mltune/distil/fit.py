"""The tree: a scikit-learn classifier over the portfolio, converted to exact whole numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mltune.distil.portfolio import cover
from mltune.distil.table import TimeTable
from mltune.distil.vectors import rows_along, whole_vectors
from mltune.problem import Contraction
from mltune.selector import (
    FEATURES,
    MAX_KERNELS,
    Leaf,
    Rule,
    Split,
    TimeFormula,
    Tree,
    features,
    walk,
)

NEAR_TIE = 0.05
"""A kernel slower than the best by this log ratio has 1/e of its weight as a label of the size.

If the fastest kernel alone were the label, near-ties would be noise. On synthetic tables of 24 to
300 sizes, these shared labels lost 0 to 2 % less on held-out sizes than weights by regret.
"""

PRIOR_SIZES = 3.0
"""How many sizes the parent's costs count for in a leaf's choice, as small leaves are noisy."""

FEATURE_SETS: tuple[tuple[str, ...], ...] = (("mn",), ("mn", "m", "n", "k"), FEATURES)
"""The features that trees may use, the fewest first; with all of them a tree overfits more.

On 131 sizes and 36 kernels of an H200 (four folds, two splits) the first set lost 2.7 % on
held-out sizes, the second 3.1 %, all features 3.6 %; where shapes matter more, the larger sets
win.
"""

DEPTHS = (0, 1, 2, 3, 4, 6, 8, 12, 16)
MIN_SIZES = (1, 2, 4, 8)

PARTS = 4
"""Folds of the cross-validation."""

KEPT = 64
"""Number of tables whose answers are cached: more than the folds, which are judged in parallel."""


@dataclass(frozen=True, slots=True)
class Memory:
    """The memory of a device, for one problem type.

    Attributes:
        bytes_per_second: the published bandwidth.
        cache_bytes: of the last cache before it.
        element_bytes: of an element of A and B.
    """

    bytes_per_second: float
    cache_bytes: float
    element_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How to distil.

    Attributes:
        tolerance: a kernel within 1 + tolerance of a size's best is as good as the best.
        max_kernels: the most kernels in the portfolio.
        max_depth: the most splits on a path of the tree.
        seed: of the split into folds, and of ties in the tree.
        compute_units: of the device.
        swapped: whether a tile's sides are columns and rows in this order, as in row-major
            problems.
        multiples: of m, n and k, at which the rows of packed matrices begin at whole vectors.
        memory: of the device; None if it is not known.
        rows_along: the extents along which the rows of A and B lie: 0 for m, 1 for n, 2 for k.
    """

    tolerance: float = 0.02
    max_kernels: int = MAX_KERNELS
    max_depth: int = 8
    seed: int = 0
    compute_units: int = 1
    swapped: bool = False
    multiples: tuple[int, int, int] = (1, 1, 1)
    memory: Memory | None = None
    rows_along: tuple[int, int] = (0, 2)

    @classmethod
    def of(cls, contraction: Contraction, **others: Any) -> Settings:
        """Return the settings that a problem type decides, with others by name."""
        return cls(
            swapped=contraction.swaps_operands,
            multiples=whole_vectors(contraction),
            rows_along=rows_along(contraction),
            **others,
        )


@dataclass(frozen=True, slots=True)
class Shape:
    """The limits of a tree: its features, splits on a path, and sizes in a leaf."""

    asked: tuple[str, ...]
    max_depth: int
    min_sizes: int


@dataclass(frozen=True, slots=True)
class Fitted:
    """A rule and its portfolio (columns of the table); the rule's answers are indices into it.

    Attributes:
        teacher: as a selector's.
    """

    portfolio: tuple[int, ...]
    tree: Tree
    formulas: tuple[TimeFormula, ...] = ()
    teacher: tuple[TimeFormula, ...] = ()

    @property
    def rule(self) -> Rule:
        """The rule without the portfolio."""
        return Rule(self.tree, self.formulas, self.teacher)

    def choose(self, table: TimeTable) -> NDArray[np.intp]:
        """Return the table's column that the rule chooses for each of its sizes."""
        if self.formulas or self.teacher:
            rule = self.rule
            chosen = [self.portfolio[rule.choose(*size)[0]] for size in table.sizes]
        else:
            chosen = [self.portfolio[walk(self.tree, values)] for values in _features(table)]
        return np.array(chosen, dtype=np.intp)

    def losses(self, table: TimeTable) -> NDArray[np.float64]:
        """Return log(chosen time / best time) for each size of a table."""
        return table.losses(self.choose(table))


def fit(
    table: TimeTable,
    settings: Settings,
    feature_sets: tuple[tuple[str, ...], ...] = FEATURE_SETS,
) -> Fitted:
    """Choose a portfolio and fit a tree to it, of the shape that is best in cross-validation."""
    shape = best_shape(table, settings, feature_sets)
    portfolio = cover(table, tolerance=settings.tolerance, max_kernels=settings.max_kernels)
    return Fitted(portfolio, grow(table, portfolio, shape, settings.seed))


@lru_cache(maxsize=KEPT)
def _features(table: TimeTable) -> tuple[dict[str, int], ...]:
    """Return the features of each size, cached because many trees use those of one table."""
    return tuple(features(*size) for size in table.sizes)


def folds(count: int, parts: int, seed: int) -> Iterator[tuple[list[int], list[int]]]:
    """Split `count` rows at random, `parts` times, so that each is held out exactly once.

    Yields:
        The rows to fit on, and the rows that are held out.
    """
    order = np.random.default_rng(seed).permutation(count)
    for part in range(min(parts, count)):
        held_out = set(order[part::parts].tolist())
        yield [row for row in range(count) if row not in held_out], sorted(held_out)


def grow(table: TimeTable, portfolio: Sequence[int], shape: Shape, seed: int = 0) -> Tree:
    """Fit one tree; see `grow_all`."""
    return grow_all(table, portfolio, shape, [shape.max_depth], seed)[shape.max_depth]


def grow_all(
    table: TimeTable,
    portfolio: Sequence[int],
    shape: Shape,
    depths: Sequence[int],
    seed: int,
) -> dict[int, Tree]:
    """Fit a tree for each greatest depth up to the shape's: the deepest one, cut off there.

    The classifier gets the rank of each feature among the training values: small whole numbers,
    which float32 holds exactly.
    """
    from sklearn.tree import DecisionTreeClassifier  # takes a second to load

    values, ranks = _ranked(table, shape.asked)
    costs = table.log_ratios[:, list(portfolio)]
    costs = costs - costs.min(axis=1, keepdims=True)
    weights = table.size_weights
    claims = np.exp(-costs / NEAR_TIE)
    claims *= weights[:, None] / claims.sum(axis=1, keepdims=True)
    sizes, labels = np.nonzero(claims > 1e-3 * weights[:, None])

    model = DecisionTreeClassifier(
        max_depth=max(shape.max_depth, 1),
        min_weight_fraction_leaf=min(0.5, shape.min_sizes / len(table.sizes)),
        random_state=seed,
    )
    # Its checks are not needed: there are no gaps, and the type is right.
    model.fit(ranks[sizes], labels, sample_weight=claims[sizes, labels], check_input=False)
    fitted = model.tree_
    best, thresholds = _nodes(fitted, values, ranks, costs, weights)

    def build(node: int, left: int) -> Tree:
        if left == 0 or node not in thresholds:
            return best[node]
        low = build(int(fitted.children_left[node]), left - 1)
        high = build(int(fitted.children_right[node]), left - 1)
        if low == high:
            return low
        return Split(shape.asked[fitted.feature[node]], thresholds[node], low, high)

    return {depth: build(0, depth) for depth in depths}


def _nodes(
    fitted: Any,
    values: NDArray[np.int64],
    ranks: NDArray[np.float32],
    costs: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> tuple[dict[int, Leaf], dict[int, int]]:
    """Return the best kernel at each node of a classifier, and the thresholds of those inside.

    A kernel's cost at a node is the mean over its sizes, and `PRIOR_SIZES` more of the node above.
    A threshold between two ranks becomes the geometric mean of the two values beside it, rounded
    down.
    """
    best: dict[int, Leaf] = {}
    thresholds: dict[int, int] = {}
    ahead = [(0, np.arange(len(costs)), weights @ costs / weights.sum())]
    while ahead:
        node, inside, parent = ahead.pop()
        weight = weights[inside]
        expected = (weight @ costs[inside] + PRIOR_SIZES * parent) / (weight.sum() + PRIOR_SIZES)
        best[node] = Leaf(int(np.argmin(expected)))
        if fitted.children_left[node] < 0:
            continue
        feature = int(fitted.feature[node])
        goes_low = ranks[inside, feature] <= fitted.threshold[node]
        low_rows, high_rows = inside[goes_low], inside[~goes_low]
        below, above = values[low_rows, feature].max(), values[high_rows, feature].min()
        thresholds[node] = math.isqrt(int(below) * int(above))
        ahead.append((int(fitted.children_left[node]), low_rows, expected))
        ahead.append((int(fitted.children_right[node]), high_rows, expected))
    return best, thresholds


@lru_cache(maxsize=KEPT)
def _ranked(
    table: TimeTable, asked: tuple[str, ...]
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the features of a shape, a row for each size, and the ranks of their values."""
    values = np.array([[row[name] for name in asked] for row in _features(table)], dtype=np.int64)
    ranks = [np.unique(column, return_inverse=True)[1] for column in values.T]
    return values, np.stack(ranks, axis=1).astype(np.float32)


def best_shape(
    table: TimeTable, settings: Settings, feature_sets: tuple[tuple[str, ...], ...]
) -> Shape:
    """Return the shape with the least loss on held-out sizes, the smallest among equals.

    The loss is the sum of weight * log(chosen time / best time). If there are too few sizes to
    hold any out, the largest shape is returned.
    """
    count = len(table.sizes)
    depths = sorted({min(depth, settings.max_depth) for depth in (*DEPTHS, settings.max_depth)})
    if count < PARTS:
        return Shape(feature_sets[-1], depths[-1], 1)
    losses = {
        Shape(asked, depth, sizes): 0.0
        for asked, depth, sizes in product(feature_sets, depths, MIN_SIZES)
        if 2 * sizes <= count
    }
    deepest = [shape for shape in losses if shape.max_depth == depths[-1]]
    for train_rows, test_rows in folds(count, PARTS, settings.seed):
        train, test = table.take(train_rows), table.take(test_rows)
        portfolio = cover(train, tolerance=settings.tolerance, max_kernels=settings.max_kernels)
        for shape in deepest:
            trees = grow_all(train, portfolio, shape, depths, settings.seed)
            for depth, tree in trees.items():
                loss = test.size_weights @ Fitted(portfolio, tree).losses(test)
                losses[replace(shape, max_depth=depth)] += float(loss)
    return min(losses, key=lambda shape: round(losses[shape], 9))
