"""Trials: the value of a config over the sizes of a run, and which configs lead."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from mltune.measurement import Measurement, Status
from mltune.problem import Precision, gemm, gemm_problem
from mltune.tuning.trial import (
    best_by_problem,
    group_trials,
    leaders,
    values_over_all_sizes,
)

Make = Callable[..., Measurement]

PROBLEMS = tuple(gemm_problem(gemm(Precision.SINGLE), m, 8, 8) for m in (8, 16, 24))


def test_measurements_are_put_together_by_trial_in_order(make: Make) -> None:
    rows = [make(2, 8, 1.0), make(0, 8, 2.0), make(2, 16, 3.0)]

    first, second = group_trials(rows)

    assert (first.number, first.measurements) == (0, (rows[1],))
    assert (second.number, second.measurements) == (2, (rows[0], rows[2]))
    assert group_trials([]) == ()


def test_a_trial_that_was_cut_off_lacks_the_rest(make: Make) -> None:
    (trial,) = group_trials([make(0, 16, 1.0)])

    assert trial.missing(PROBLEMS) == (PROBLEMS[0], PROBLEMS[2])


def test_a_failed_trial_lacks_nothing_and_is_worth_nothing(make: Make) -> None:
    (trial,) = group_trials([make(0, 8, 1.0), make(0, 16, Status.WRONG_RESULT)])

    assert trial.failure is not None
    assert trial.failure.status is Status.WRONG_RESULT
    assert trial.missing(PROBLEMS) == ()
    assert trial.value is None


def test_a_tenth_faster_counts_the_same_on_every_size(make: Make) -> None:
    small, large = group_trials(
        [make(0, 8, 0.9e-6), make(0, 16, 1.0), make(1, 8, 1e-6), make(1, 16, 0.9)]
    )

    assert small.value == pytest.approx(math.log(0.9e-6) / 2)
    assert small.value == pytest.approx(large.value)


def test_a_trial_that_something_is_not_known_of_is_worth_nothing(make: Make) -> None:
    (trial,) = group_trials([make(0, 8, 1.0), make(0, 16, 2.0)])

    assert trial.value_by(lambda row: None if row.problem.m == 8 else 1.0) is None


def test_values_are_listed_by_size_as_they_are(make: Make) -> None:
    (trial,) = group_trials([make(0, 24, 2.0), make(0, 8, 1.0)])

    def value_of(row: Measurement) -> float | None:
        return None if row.problem.m == 8 else row.median

    assert trial.values_by(PROBLEMS, lambda row: row.median) == {0: 1.0, 2: 2.0}
    assert trial.values_by(PROBLEMS, value_of) == {2: 2.0}


def test_leaders_are_the_fastest_of_all_sizes_and_of_each(make: Make) -> None:
    rows = [
        *(make(0, 8, 1.0), make(0, 16, 1.0)),  # the fastest overall
        *(make(1, 8, 0.5), make(1, 16, 9.0)),  # only on the first size
        *(make(2, 8, 9.0), make(2, 16, 0.5)),  # only on the second
        *(make(3, 8, 5.0), make(3, 16, 5.0)),  # nowhere
        *(make(4, 8, 0.1), make(4, 16, Status.CRASHED)),  # not right everywhere
    ]

    chosen = leaders(group_trials(rows), per_size=1, overall=1)

    assert [trial.number for trial in chosen] == [0, 1, 2]


def test_sizes_that_a_trial_was_not_timed_on_are_estimated_with_care(make: Make) -> None:
    rows = [
        *(make(0, 8, 1.0), make(0, 16, 4.0), make(0, 24, 16.0)),
        *(make(1, 8, 2.0), make(1, 16, 2.0), make(1, 24, 8.0)),
        *(make(2, 8, math.sqrt(0.5)), make(2, 16, math.sqrt(2.0))),  # half of the typical value
        *(make(3, 8, 0.1), make(3, 16, Status.TIMEOUT)),
        make(4, 16, math.sqrt(8.0) * 5),  # five times the typical value
    ]

    values = values_over_all_sizes(group_trials(rows))

    assert values.keys() == {0, 1, 2, 4}
    assert values[0] == pytest.approx(math.log(4))
    typical = (values[0] + values[1]) / 2
    assert values[2] == pytest.approx(typical - math.log(2) * (2 + 2 / 3) / 3)
    assert values[4] == pytest.approx(typical + math.log(5))
    assert values_over_all_sizes(()) == {}


def test_a_config_timed_where_it_may_win_can_lead(make: Make) -> None:
    rows = [
        *(make(0, 8, 1.0), make(0, 16, 1.0)),
        *(make(1, 8, 2.0), make(1, 16, 2.0)),
        make(2, 16, 0.5),
    ]

    chosen = leaders(group_trials(rows), per_size=1, overall=0)

    assert [trial.number for trial in chosen] == [0, 2]


def test_of_equal_trials_the_earlier_leads(make: Make) -> None:
    trials = group_trials(make(number, 8, 1.0) for number in (3, 1, 2))

    assert [trial.number for trial in leaders(trials, per_size=1, overall=1)] == [1]


def test_no_trials_have_no_leaders() -> None:
    assert leaders(()) == ()


def test_a_final_time_beats_a_faster_one_from_the_search(make: Make) -> None:
    lucky = make(0, 8, 0.1)
    final = make(1, 8, 0.5, "final")
    slower = make(2, 8, 0.6, "final")

    assert best_by_problem([lucky, slower, final]) == {lucky.problem: final}


def test_a_failure_is_never_the_best(make: Make) -> None:
    assert best_by_problem([make(0, 8, Status.TIMEOUT)]) == {}
