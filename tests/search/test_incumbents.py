from __future__ import annotations

import math

import numpy as np
import pytest

from mltune.search.incumbents import Incumbents


def test_without_counts_half_goes_by_time_and_half_is_the_same_for_every_size() -> None:
    incumbents = Incumbents([1, 1])
    incumbents.add({0: math.log(1e-6), 1: math.log(1.0)})

    assert incumbents.shares.tolist() == pytest.approx([0.25, 0.75], abs=1e-6)
    assert incumbents.add({0: math.log(0.9e-6)}) == pytest.approx(0.025, abs=1e-6)
    assert incumbents.add({1: math.log(0.9)}) == pytest.approx(0.075, abs=1e-6)


def test_sizes_that_take_equally_long_have_equal_shares() -> None:
    incumbents = Incumbents([7, 7, 7])
    incumbents.add({0: -2.0, 1: -2.0, 2: -2.0})

    assert incumbents.shares.tolist() == pytest.approx([1 / 3] * 3)


def test_with_counts_a_size_counts_by_its_time_in_all_calls() -> None:
    incumbents = Incumbents([30, 10])
    incumbents.add({0: math.log(1.0), 1: math.log(7.0)})

    assert incumbents.shares.tolist() == pytest.approx([0.3, 0.7])
    assert incumbents.add({0: math.log(0.5), 1: math.log(8.0)}) == pytest.approx(0.15)
    assert incumbents.shares.tolist() == pytest.approx([15 / 85, 70 / 85])


def test_a_size_that_nothing_was_right_on_has_no_share_yet() -> None:
    incumbents = Incumbents([1, 1, 1])
    assert incumbents.shares.tolist() == pytest.approx([1 / 3] * 3)
    assert incumbents.add({0: 0.0}) == 1

    assert incumbents.shares.tolist() == [1, 0, 0]
    assert incumbents.add({}) == 0
    assert incumbents.add({1: 0.0}) == pytest.approx(1 / 2)


def test_a_size_has_as_many_of_the_best_as_its_share_asks_for() -> None:
    incumbents = Incumbents([1000, 1000])
    fast = np.log([[4.0, 1.0], [5.0, 2.0], [6.0, math.inf], [math.nan, 0.9], [8.0, 3.0]])

    # Shares of 0.82 and 0.18: four of the slow size come before the first of the other.
    assert incumbents.best_first(fast) == [0, 1, 2, 4, 3]
    assert Incumbents([1, 9]).best_first(fast) == [3, 0, 1, 4, 2]
