"""Tensile's ranges: nested thresholds that give every measured size its best kernel."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np

from mltune.distil import Size, TimeTable
from mltune.distil.fit import Settings
from mltune.distil.ranges import fit_ranges
from mltune.selector import MAX_DEPTH, Leaf, PortfolioKernel, Split, depth, leaves, nodes
from mltune.space.config import Config

MakeTable = Callable[..., TimeTable]
ALL = Settings(max_kernels=1000)


def table_of(sizes: list[tuple[int, int, int]], best: list[int], kernels: int = 3) -> TimeTable:
    """A table in which each size has one kernel that is twice as fast as the others."""
    seconds = np.full((len(sizes), kernels), 2.0)
    seconds[range(len(sizes)), best] = 1.0
    names = (
        PortfolioKernel(name=f"k{n}", family="f", config=Config.of({"n": n}), source_hash="0")
        for n in range(kernels)
    )
    return TimeTable(
        sizes=tuple(Size(*size, 1) for size in sizes), kernels=tuple(names), seconds=seconds
    )


def test_thresholds_stand_between_the_measured_extents() -> None:
    table = table_of([(16, 8, 8), (64, 8, 8)], [0, 1], kernels=2)

    fitted = fit_ranges(table, ALL)

    assert isinstance(fitted.tree, Split)
    assert (fitted.tree.feature, fitted.tree.threshold) == ("m", 32)


def test_every_measured_size_of_a_grid_gets_its_fastest_kernel() -> None:
    extents = (16, 32, 48, 64)
    sizes = list(product(extents, extents, extents))
    best = [(m // 16 * 5 + n // 16 * 3 + k // 16) % 3 for m, n, k in sizes]
    table = table_of(sizes, best)

    assert fit_ranges(table, ALL).choose(table).tolist() == best


def test_it_asks_for_m_then_n_then_k() -> None:
    sizes = list(product((16, 32), (8, 64), (4, 400)))
    tree = fit_ranges(table_of(sizes, [0, 1, 1, 0, 1, 0, 0, 1], kernels=2), ALL).tree

    rank = {"m": 0, "n": 1, "k": 2, "batch": 3}
    for node, _ in nodes(tree):
        if isinstance(node, Split):
            for child in (node.low, node.high):
                if isinstance(child, Split):
                    assert rank[child.feature] >= rank[node.feature]


def test_neighbours_with_the_same_kernel_share_a_rule() -> None:
    sizes = [(m, 8, 8) for m in (16, 32, 48, 64, 80, 96)]

    tree = fit_ranges(table_of(sizes, [0, 0, 0, 1, 1, 1], kernels=2), ALL).tree

    assert len(leaves(tree)) == 2


def test_a_difference_smaller_than_a_measurement_knows_is_no_rule() -> None:
    seconds = np.array([[1.0, 1.001], [1.001, 1.0]])
    known = table_of([(16, 8, 8), (64, 8, 8)], [0, 1], kernels=2)
    table = TimeTable(sizes=known.sizes, kernels=known.kernels, seconds=seconds)

    assert isinstance(fit_ranges(table, ALL).tree, Leaf)


def test_hundreds_of_extents_stay_within_the_depth_of_a_tree() -> None:
    sizes = [(m, 8, 8) for m in range(1, 400)]
    table = table_of(sizes, [m % 3 for m, _, _ in sizes])

    fitted = fit_ranges(table, ALL)

    assert depth(fitted.tree) <= MAX_DEPTH
    assert fitted.choose(table).tolist() == [m % 3 for m, _, _ in sizes]


def test_no_more_kernels_than_asked_for(make_table: MakeTable) -> None:
    assert len(fit_ranges(make_table(60), Settings(max_kernels=2)).portfolio) == 2
