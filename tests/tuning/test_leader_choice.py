"""Which leaders are timed on a size."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mltune.problem import Precision, gemm, gemm_problem
from mltune.tuning.leader_choice import most_promising, spread_out

EXPECTED = np.log(np.array([1.0, 1.02, 1.5, 4.0]) * 1e-5)
DOUBT = np.array([0.05, 0.05, 0.05, 0.05])


def test_the_first_sizes_are_spread_over_all() -> None:
    contraction = gemm(Precision.SINGLE)
    extents = [2**power for power in range(5, 12)]
    problems = [gemm_problem(contraction, m, n, 64) for m in extents for n in extents]

    order = spread_out(problems)

    assert sorted(order, key=problems.index) == problems
    assert (order[0].m, order[0].n) == (256, 256)
    assert {(one.m > 256, one.n > 256) for one in order[1:5]} == {
        (high, wide) for high in (False, True) for wide in (False, True)
    }
    assert spread_out([]) == []


def test_who_is_expected_to_be_fast_comes_first_and_who_is_slow_promises_nothing() -> None:
    first, gain = most_promising(EXPECTED, DOUBT, {})
    assert first == 0
    assert gain == pytest.approx(0.05 / math.sqrt(2 * math.pi))
    second, less = most_promising(EXPECTED, DOUBT, {0: EXPECTED[0]})
    assert second == 1
    assert 0 < less < gain
    beside_a_slow_one = most_promising(EXPECTED, DOUBT, {0: EXPECTED[0], 3: EXPECTED[3]})
    assert beside_a_slow_one == pytest.approx((second, less))
    third, nothing = most_promising(EXPECTED, DOUBT, {0: EXPECTED[0], 1: EXPECTED[1]})
    assert third == 2
    assert nothing < 1e-6


def test_half_of_what_is_slower_than_expected_is_the_sizes() -> None:
    best, gain = most_promising(EXPECTED, DOUBT, {0: EXPECTED[0] + 1.0})

    assert best == 1
    assert gain == pytest.approx(0.5 - math.log(1.02), abs=0.01)


def test_a_failure_is_known_and_says_nothing_of_the_others() -> None:
    with_failure = most_promising(EXPECTED, DOUBT, {0: np.inf})

    assert with_failure[0] == 1
    assert with_failure == most_promising(EXPECTED, DOUBT, {0: np.inf, 3: np.inf})
