from __future__ import annotations

import math

import pytest

from mltune.search.incumbents import Incumbents


def test_without_counts_a_tenth_faster_counts_the_same_on_every_size() -> None:
    incumbents = Incumbents([1, 1])
    incumbents.add({0: math.log(1e-6), 1: math.log(1.0)})

    assert incumbents.add({0: math.log(0.9e-6)}) == pytest.approx(0.05)
    assert incumbents.add({1: math.log(0.9)}) == pytest.approx(0.05)


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
    assert incumbents.add({1: 5.0}) == pytest.approx(1 / 2)
