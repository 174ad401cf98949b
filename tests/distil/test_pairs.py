"""Pairs of kernels in a leaf: which pair, and at which share of the expected times."""

from __future__ import annotations

import numpy as np

from mltune.distil.pairs import LEAST_SIZES, best_pair, chosen, shares
from mltune.selector import Leaf, Rival
from mltune.selector.rival import PARTS, share

SIZES = 400
ROWS = np.arange(SIZES)


def test_shares_are_those_of_the_selector() -> None:
    times = np.random.default_rng(0).integers(10**6, 10**12, (SIZES, 2))
    logs = np.log(times).astype(np.float32)

    found = shares(logs[:, 0], logs[:, 1])

    wanted = np.array([share(*map(int, each)) for each in times])
    assert np.abs(found - wanted).max() <= 1


def test_two_kernels_that_are_each_faster_somewhere_share_a_leaf() -> None:
    rng = np.random.default_rng(1)
    logs = rng.normal(0, 1, (SIZES, 3)).astype(np.float32)
    ahead = logs[:, 0] - logs[:, 2]
    # Kernel 0 is right where its formula is below 0.8 of the other's; kernel 1 never is.
    bound = np.log(0.8)
    costs = np.column_stack([ahead > bound, np.ones(SIZES), ahead <= bound]).astype(np.float64)

    leaf = best_pair(costs, logs, ROWS)

    assert leaf is not None
    assert leaf.kernels == (0, 2)
    lost = costs[ROWS, chosen(leaf, logs, ROWS)]
    assert lost.sum() == 0


def test_of_many_kernels_the_one_that_helps_the_best_is_its_partner() -> None:
    costs = np.full((SIZES, 12), 0.5)
    is_rare = ROWS % 10 == 0
    costs[:, 7], costs[:, 3], costs[:, 11] = is_rare, ~is_rare, 2.0
    logs = np.zeros((SIZES, 12), dtype=np.float32)
    logs[:, 7] = is_rare

    leaf = best_pair(costs, logs, ROWS)

    assert leaf is not None
    assert set(leaf.kernels) == {3, 7}


def test_a_leaf_has_one_kernel_where_no_pair_saves_or_sizes_are_few() -> None:
    logs = np.zeros((SIZES, 2), dtype=np.float32)
    always = np.tile([0.0, 1.0], (SIZES, 1))
    mixed = np.eye(2)[ROWS % 2]
    few = LEAST_SIZES - 1

    assert best_pair(always, logs, ROWS) is None
    assert best_pair(mixed, logs, ROWS) is None  # the formulas do not tell them apart
    assert best_pair(mixed[:few], np.log(1 + mixed).astype(np.float32), ROWS[:few]) is None


def test_without_formulas_a_leaf_has_its_own_kernel() -> None:
    assert chosen(Leaf(3, rival=Rival(1, PARTS // 2)), None, np.arange(2)).tolist() == [3, 3]
    assert chosen(Leaf(3), np.zeros((2, 4), dtype=np.float32), np.arange(2)).tolist() == [3, 3]
