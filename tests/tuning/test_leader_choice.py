"""Which leaders are timed on a size."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

from mltune.measurement import Measurement, Phase, Status
from mltune.problem import Precision, Problem, gemm, gemm_problem
from mltune.tuning.leader_choice import LeaderChoice, most_promising, spread_out
from mltune.tuning.leader_model import Expected
from mltune.tuning.trial import Trial
from tests.devices import CPU
from tests.made_up import build_config, build_measurement, build_problem

Array = NDArray[np.float64]

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


class MadeUp:
    """A model that predicts the same times on all sizes, and notes what it learned from."""

    logs = (0.0, 0.0, 0.065, 0.09)
    learned: ClassVar[list[Array]] = []
    used: ClassVar[dict[int, int]] = {}

    def __init__(self, *_: Any) -> None:
        self.sizes = 0

    def learn(self, seconds: Array, *, is_quick: bool = False) -> MadeUp:
        self.learned.append(seconds)
        learned = MadeUp()
        learned.sizes = int(np.isfinite(seconds[:, 1]).sum())
        return learned

    def expect(self, places: Sequence[int]) -> Expected:
        self.used.update(dict.fromkeys(places, self.sizes))
        logs = np.array([self.logs] * len(places))
        return Expected(logs, np.full(logs.shape, 0.05))


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> type[MadeUp]:
    monkeypatch.setattr("mltune.tuning.leader_choice.LeaderModel", MadeUp)
    monkeypatch.setattr(MadeUp, "learned", [])
    monkeypatch.setattr(MadeUp, "used", {})
    return MadeUp


SIZES = [build_problem(8 * m) for m in range(1, 18)]


def searched(number: int, seconds: float = 2.0) -> Measurement:
    return build_measurement(number, 8, seconds)


def begin(rows: Sequence[Measurement] = (), *, is_apart: bool = False) -> LeaderChoice:
    trials = [Trial(number, build_config(number), (searched(number),)) for number in range(4)]
    twice = Trial(4, build_config(0), (searched(0),))
    return LeaderChoice([*trials, twice], SIZES, CPU, rows, is_apart=is_apart)


def time_on(
    choice: LeaderChoice, problem: Problem, outcomes: Mapping[int, float | Status] = {}
) -> list[int]:
    """Time the chosen leaders, in a second each; return their numbers."""
    numbers: list[int] = []
    for _ in range(5):
        trial = choice.next(problem)
        if trial is None:
            break
        numbers.append(trial.number)
        outcome = outcomes.get(trial.number, 1.0)
        row = build_measurement(trial.number, problem.m, outcome, Phase.FINAL)
        choice.note(replace(row, config=trial.config))
    return numbers


@pytest.mark.parametrize("is_apart", [False, True])
def test_all_are_timed_on_eight_sizes_then_those_that_gain_a_five_hundredth(
    model: type[MadeUp], is_apart: bool
) -> None:
    """Of the third 0.0023; of the fourth 0.0016, as the third was 0.065 faster than expected."""
    far = SIZES[16].m
    alone = [build_measurement(number, far, Status.TIMEOUT) for number in (2, 3)]
    alone += [build_measurement(3, far, 7.0), build_measurement(1, far, 9.0, Phase.DISTURBED)]
    choice = begin([searched(0, 3.0), *alone], is_apart=is_apart)

    chosen = [time_on(choice, problem) for problem in SIZES]

    assert chosen == [[4, 1, 2, 3]] * 8 + [[4, 1, 2]] * 9
    # Fits after 5, 7 and 10 sizes, each is used when the next one begins; a thread may begin 15.
    known = [np.isfinite(seconds[:, 1]).sum() for seconds in model.learned]
    assert known[:3] == [5, 7, 10]
    assert model.used == dict(enumerate([5, 5, 7, 7, 7, 7, 7, 10, 10], start=8))
    first = np.full((17, 4), np.nan)
    first[:5] = 1.0  # the round on the first size counts, not the trial
    first[16, 3] = 7.0
    np.testing.assert_array_equal(model.learned[0], first)


def test_two_are_timed_at_least_and_failures_are_not_counted(
    model: type[MadeUp], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model, "logs", (0.0, 2.0, 3.0, 4.0))
    choice = begin()
    for problem in SIZES[:8]:
        time_on(choice, problem)

    assert time_on(choice, SIZES[8]) == [4, 1]
    assert time_on(choice, SIZES[9], {1: Status.TIMEOUT}) == [4, 1, 2]
    # A leader that was disturbed comes later.
    passed = choice.next(SIZES[10], [build_config(0)])
    assert passed is not None
    assert passed.number == 1
    assert choice.next(SIZES[10], [build_config(number) for number in range(4)]) is None


def test_other_measurements_count_as_no_visit(model: type[MadeUp]) -> None:
    choice = begin()
    choice.note(build_measurement(0, 8, 1.0))
    choice.note(build_measurement(0, 8, 1.0, Phase.DISTURBED))
    choice.note(build_measurement(7, 8, 1.0, Phase.FINAL))  # no leader
    choice.note(build_measurement(0, 4, 1.0, Phase.FINAL))  # a size of another list

    assert choice.last is None
    assert not choice.has_begun(SIZES[0])
    choice.note(build_measurement(3, 16, 1.0, Phase.FINAL))
    assert choice.last == SIZES[1]
    assert choice.has_begun(SIZES[1])
    assert time_on(choice, SIZES[1]) == [4, 1, 2]


def test_a_resumed_run_goes_on_as_the_run_would_have(model: type[MadeUp]) -> None:
    rows = [searched(number) for number in range(4)]
    rows += [
        build_measurement(number, problem.m, 1.0, Phase.FINAL)
        for problem in SIZES[:9]
        for number in range(4)
    ]

    assert time_on(begin(rows), SIZES[9]) == [4, 1, 2]
    assert np.isfinite(model.learned[-1]).sum() == 5 * 4
    # After a further trial, others may be leaders: all sizes have to begin again.
    again = begin([*rows, searched(1)])
    assert again.last is None
    assert not any(map(again.has_begun, SIZES))
