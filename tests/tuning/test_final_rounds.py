"""Which trials compete in the final rounds."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import pytest

from mltune.measurement import Measurement, Status
from mltune.run.run_info import TIME
from mltune.runner.live import REFERENCE_SECONDS
from mltune.tuning import final_rounds
from mltune.tuning.final_rounds import FinalRounds, contenders
from mltune.tuning.final_selection import choose
from mltune.tuning.session import MeasurementSession
from mltune.tuning.trial import group_trials
from tests.devices import CPU
from tests.tuning.scripted import ScriptedRunner

Make = Callable[..., Measurement]


def test_they_stay_the_same_when_the_rounds_are_resumed(make: Make) -> None:
    def row(trial: int, seconds: float, reference: float, phase: str = "search") -> Measurement:
        return make(trial, 8, seconds, phase, observed=((REFERENCE_SECONDS, reference),))

    searched = [row(trial, 1 + trial / 100, 1.0) for trial in range(10)]
    searched.append(row(10, 1.4, 1.45))  # the fastest, if nothing had disturbed it
    rounds = [row(0, 1.0, 1.1, "final") for _ in range(200)]  # after these, that is no disturbance
    trials = group_trials(searched)

    first = MeasurementSession(ScriptedRunner(CPU, searched), TIME, searched)
    resumed = MeasurementSession(ScriptedRunner(CPU, searched), TIME, [*searched, *rounds])

    assert resumed.value(searched[-1]) != first.value(searched[-1])
    assert trials[10] in contenders(trials, first)
    assert contenders(trials, resumed) == contenders(trials, first)


def rounds_of(
    searched: list[Measurement], answers: list[Measurement], sleeps: list[float] | None = None
) -> list[Measurement]:
    """What is measured on one size, with many rounds."""
    session = MeasurementSession(ScriptedRunner(CPU, answers), TIME, searched * 20)
    rows: list[Measurement] = []

    def add(row: Measurement) -> Measurement:
        rows.append(row)
        return row

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(final_rounds, "_MOST_ROUNDS", 5)
        patched.setattr(time, "sleep", [].append if sleeps is None else sleeps.append)
        FinalRounds(session, group_trials(searched), [], add).run(
            [searched[0].problem], lambda progress: None
        )
    return rows


def test_disturbed_rounds_are_repeated_and_the_last_one_counts_if_no_other_does(
    make: Make,
) -> None:
    def row(seconds: float, reference: float) -> Measurement:
        return make(0, 8, seconds, observed=((REFERENCE_SECONDS, reference),))

    quiet, loud = row(1.0, 1e-5), row(2.0, 2e-5)
    sleeps: list[float] = []

    def phases(*answers: Measurement) -> str:
        return "".join(row.phase.value[0] for row in rounds_of([quiet], [*answers], sleeps))

    assert phases(quiet) == "fff"
    assert not sleeps
    assert phases(loud, quiet) == "dfff"
    assert len(sleeps) == 1
    assert phases(loud) == "ddddf"
    assert phases(quiet, loud) == "fdddd"


def test_a_leader_far_behind_has_one_round_and_one_that_fails_no_further_one(make: Make) -> None:
    searched = [make(0, 8, 1.0), make(1, 8, 3.0)]
    wrong = make(0, 8, Status.WRONG_RESULT)

    assert [row.trial for row in rounds_of(searched, [*searched, searched[0]])] == [0, 1, 0, 0]
    assert [row.trial for row in rounds_of(searched[:1], [searched[0], wrong])] == [0, 0]


def test_a_leader_that_was_much_faster_in_its_trial_is_not_judged_by_one_round(make: Make) -> None:
    searched = [make(0, 8, 1.0), make(1, 8, 3.0)]
    answers = [make(0, 8, 10.0), make(1, 8, 3.0), make(0, 8, 1.0), make(1, 8, 3.0)]
    session = MeasurementSession(ScriptedRunner(CPU, answers), TIME, searched)
    rows = []

    def add(row: Measurement) -> Measurement:
        rows.append(row)
        return row

    FinalRounds(session, group_trials(searched), [], add).run(
        [searched[0].problem], lambda progress: None
    )

    (choice,) = choose(rows).values()
    assert choice.best.trial == 0
    assert choice.best.median == 1.0


def test_after_the_time_limit_a_size_has_one_round(make: Make) -> None:
    searched = [make(0, 8, 1.0), make(1, 8, 1.01)]
    session = MeasurementSession(ScriptedRunner(CPU, searched), TIME, searched)
    rows = []

    def add(row: Measurement) -> Measurement:
        rows.append(row)
        clock.append(math.inf)
        return row

    clock = [0.0]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("mltune.tuning.final_rounds.time.monotonic", lambda: clock[-1])
        FinalRounds(session, group_trials(searched), [], add).run(
            [searched[0].problem], lambda progress: None, end=1.0
        )

    assert sorted(row.trial for row in rows) == [0, 1]
