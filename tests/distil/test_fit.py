import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from mltune.distil import Size, TimeTable
from mltune.distil.fit import Settings, Shape, best_shape, fit, folds, grow
from mltune.selector import (
    FEATURES,
    INT64_MAX,
    Leaf,
    PortfolioKernel,
    Split,
    depth,
    features,
    walk,
)
from mltune.selector.selector import nodes
from mltune.space.config import Config

MakeTable = Callable[..., TimeTable]


def two_sided(small: list[int], large: list[int]) -> TimeTable:
    """Kernel 0 is fastest for small m, kernel 1 for large m."""
    sizes = tuple(Size(m, 1, 1, 1) for m in (*small, *large))
    return TimeTable(
        sizes=sizes,
        kernels=tuple(
            PortfolioKernel(name=f"k{n}", family="f", config=Config.of({}), source_hash="")
            for n in range(2)
        ),
        seconds=np.array([[1.0, 2.0]] * len(small) + [[2.0, 1.0]] * len(large)),
    )


def test_a_threshold_is_the_geometric_mean_of_the_neighbours_rounded_down() -> None:
    tree = grow(two_sided([1, 2, 4, 10], [1000, 2000, 4000]), (0, 1), Shape(("m",), 1, 1))

    assert tree == Split("m", math.isqrt(10 * 1000), Leaf(0), Leaf(1))


@pytest.mark.parametrize("base", [2**24, 2**31 - 10, 2**53, 2**62])
def test_neighbouring_numbers_that_a_float_cannot_tell_apart_are_split(base: int) -> None:
    table = two_sided([base - 3, base - 2, base - 1, base], [base + 1, base + 2, base + 3])
    tree = grow(table, (0, 1), Shape(("m",), 4, 1))

    assert tree == Split("m", base, Leaf(0), Leaf(1))
    assert [walk(tree, features(*size)) for size in table.sizes] == [0] * 4 + [1] * 3


def test_products_that_saturate_still_give_a_legal_threshold() -> None:
    table = two_sided([2**40], [2**62, 2**62 + 1])
    scaled = TimeTable(
        sizes=tuple(Size(m, 2**20, 2**20, 1) for m, *_ in table.sizes),
        kernels=table.kernels,
        seconds=table.seconds,
    )
    tree = grow(scaled, (0, 1), Shape(FEATURES, 8, 1))

    assert all(node.threshold < INT64_MAX for node, _ in nodes(tree) if isinstance(node, Split))


def test_a_size_of_zero_on_the_low_side_is_no_special_case() -> None:
    # m_per_n is 0 for n > m, so a threshold of 0 is a question like any other.
    sizes = tuple(Size(8, n, 1, 1) for n in (9, 10, 11, 1, 2, 3))
    table = two_sided([1, 2, 3], [4, 5, 6])
    table = TimeTable(sizes=sizes, kernels=table.kernels, seconds=table.seconds)
    tree = grow(table, (0, 1), Shape(("m_per_n",), 1, 1))

    assert tree == Split("m_per_n", 0, Leaf(0), Leaf(1))


def test_leaves_that_agree_are_one_leaf(make_table: MakeTable) -> None:
    tree = grow(make_table(60), tuple(range(6)), Shape(FEATURES, 8, 1))

    assert all(
        node.low != node.high or isinstance(node.low, Split)
        for node, _ in nodes(tree)
        if isinstance(node, Split)
    )


def test_near_ties_do_not_grow_a_tree() -> None:
    rng = np.random.default_rng(0)
    table = two_sided(list(range(1, 21)), list(range(21, 41)))
    tied = TimeTable(
        sizes=table.sizes,
        kernels=table.kernels,
        seconds=np.exp(rng.normal(0, 0.001, (40, 2))),
    )

    assert fit(tied, Settings()).tree == Leaf(0)


def test_a_shape_is_judged_on_sizes_that_its_trees_have_not_seen() -> None:
    rng = np.random.default_rng(0)
    table = two_sided(list(range(1, 21)), list(range(21, 41)))
    noise = replace(table, seconds=np.exp(rng.normal(0, 0.3, (40, 2))) * [1.0, 1.2])

    assert best_shape(noise, Settings(), (FEATURES,)).max_depth == 0


def test_the_depth_is_kept(make_table: MakeTable) -> None:
    table = make_table(60)

    for limit in (0, 1, 3):
        assert depth(grow(table, tuple(range(6)), Shape(FEATURES, limit, 1))) <= limit
        assert depth(fit(table, Settings(max_depth=limit)).tree) <= limit


def test_weights_decide_where_a_leaf_cannot_satisfy_everyone() -> None:
    table = two_sided([1], [2])
    heavy = TimeTable(
        sizes=table.sizes,
        kernels=table.kernels,
        seconds=table.seconds,
        weights=np.array([1.0, 5.0]),
    )

    assert grow(heavy, (0, 1), Shape(FEATURES, 0, 1)) == Leaf(1)


def test_the_same_seed_gives_the_same_tree(make_table: MakeTable) -> None:
    table = make_table(40, missing=0.2)

    assert fit(table, Settings(seed=3)) == fit(table, Settings(seed=3))


@pytest.mark.parametrize(("count", "parts"), [(1, 4), (2, 4), (8, 4), (13, 5)])
def test_each_row_is_held_out_exactly_once(count: int, parts: int) -> None:
    held_out = []
    for fit_rows, test_rows in folds(count, parts, seed=0):
        assert sorted(fit_rows + test_rows) == list(range(count))
        held_out += test_rows

    assert sorted(held_out) == list(range(count))
