"""How long the leaders are timed on further sizes, with made-up times."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from mltune.measurement import Measurement, Phase
from mltune.problem import Problem
from mltune.run.run_info import TIME, RunInfo
from mltune.space.config import Config
from mltune.tuning.allowance import Allowance
from mltune.tuning.final_rounds import FinalRounds
from mltune.tuning.progress import Progress, ignore_progress
from mltune.tuning.session import MeasurementSession
from tests.devices import CPU
from tests.made_up import build_problem
from tests.tuning.scripted import ScriptedRunner

Make = Callable[..., Measurement]
BEGIN = datetime(2026, 11, 20, tzinfo=UTC)
SEARCHED = (build_problem(8), build_problem(16))
OTHERS = tuple(build_problem(m) for m in (24, 4096, 32, 40, 48))


def at(seconds: float) -> str:
    return (BEGIN + timedelta(seconds=seconds)).isoformat(timespec="milliseconds")


def history(make: Make) -> list[Measurement]:
    """Thirty seconds of search, then a second of leaders on each size."""
    rows = [make(trial, 8, 1.0, timestamp=at(trial)) for trial in range(31)]
    return rows + [
        make(0, m, 1.0, Phase.FINAL, timestamp=at(30 + second))
        for second, m in enumerate((8, 16), start=1)
    ]


class TickingRunner(ScriptedRunner):
    """Every measurement takes half a second, by its timestamp."""

    def __init__(self, rows: Sequence[Measurement], now: float) -> None:
        super().__init__(CPU, rows)
        self.now = now
        self.expected: list[str] = []

    def expect(self, problem: Problem) -> None:
        self.expected.append(problem.label)

    def answer(self, problem: Problem, config: Config) -> Measurement:
        self.now += 0.5
        answer = super().answer(problem, config)
        return replace(answer, timestamp=at(self.now))


def test_further_sizes_get_their_share_of_the_time(make: Make) -> None:
    allowance = Allowance(SEARCHED, OTHERS, 0.25, history(make))

    assert allowance.total == pytest.approx(10)
    assert allowance.left == pytest.approx(10)
    assert allowance.next() == OTHERS[0]
    assert allowance.next([OTHERS[0]]) == OTHERS[2]  # the next one is far larger than any before


def test_sizes_that_are_handed_out_take_time_that_others_lack(make: Make) -> None:
    allowance = Allowance(SEARCHED, OTHERS, 0.05, history(make))

    assert allowance.left == pytest.approx(30 / 19)  # and each size takes a second
    assert allowance.next() == OTHERS[0]
    assert allowance.next([OTHERS[0]]) is None


def test_a_size_is_measured_again_if_there_is_time_for_all_its_rounds(make: Make) -> None:
    rows = [*history(make), make(0, 24, 1.0, Phase.FINAL, timestamp=at(32 + 4))]
    allowance = Allowance(SEARCHED, OTHERS, 0.25, rows)

    assert allowance.left == pytest.approx(10 - 4)
    assert allowance.has_time_again(OTHERS[0], 1)
    assert not allowance.has_time_again(OTHERS[0], 2)


def test_disturbed_measurements_take_time_of_the_search_until_the_leaders_are_timed(
    make: Make,
) -> None:
    searched = [make(0, 8, 1.0, timestamp=at(second)) for second in (0, 30)]
    searched.append(make(0, 8, 1.0, Phase.DISTURBED, timestamp=at(45)))
    timed = [
        make(0, 8, 1.0, Phase.FINAL, timestamp=at(46)),
        make(0, 24, 1.0, Phase.DISTURBED, timestamp=at(48)),
    ]
    allowance = Allowance(SEARCHED, OTHERS, 0.25, [*searched, *timed])

    assert (allowance.total, allowance.left) == pytest.approx((15, 15 - 2))
    assert allowance.begun == (OTHERS[0],)


def test_with_an_end_further_sizes_have_all_the_time_until_then(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.monotonic()
    allowance = Allowance(SEARCHED, OTHERS, 0.25, history(make), now + 100)

    assert 90 < allowance.left <= allowance.total <= 100
    assert allowance.next() == OTHERS[0]
    monkeypatch.setattr("mltune.tuning.allowance.time.monotonic", lambda: now + 101)
    assert allowance.left == 0
    assert allowance.next() is None


def test_the_time_of_further_trials_gives_more_time_to_the_leaders(make: Make) -> None:
    rows = [*history(make), make(31, 8, 1.0, timestamp=at(32 + 6))]

    assert Allowance(SEARCHED, OTHERS, 0.25, rows).total == pytest.approx(12)


def test_time_between_two_sessions_is_nobodys(make: Make) -> None:
    rows = [make(0, 8, 1.0, timestamp=at(second)) for second in (0, 10, 100_000)]

    assert Allowance(SEARCHED, OTHERS, 0.5, rows).total == pytest.approx(70)


def test_without_times_there_is_no_allowance(make: Make) -> None:
    rows = [make(0, 8, 1.0, timestamp="") for _ in range(9)]

    assert Allowance(SEARCHED, OTHERS, 0.25, rows).next() is None


def test_a_larger_size_is_expected_to_take_longer(make: Make) -> None:
    rows = history(make)
    rows += [make(0, m, 1.0, Phase.FINAL, timestamp=at(32 + m / 16)) for m in (24, 32)]
    large = build_problem(180), build_problem(200)
    slow = Allowance(SEARCHED, (OTHERS[0], OTHERS[2], *large), 0.25, rows)

    assert slow.next() is None
    others = Allowance(SEARCHED, (*OTHERS[:1], *OTHERS[2:]), 0.25, rows)
    assert others.next() == OTHERS[3]
    assert others.next(large) is None


def rounds(info: RunInfo, rows: list[Measurement], runner: TickingRunner) -> FinalRounds:
    session = MeasurementSession(runner, TIME, rows)

    def add(row: Measurement) -> Measurement:
        rows.append(row)
        return row

    return FinalRounds.of(info, rows, session, add)


def test_the_leaders_go_on_until_their_share_is_used_and_are_resumed(
    make: Make, info: RunInfo
) -> None:
    sizes = tuple(replace(info.sizes[0], extents=(m, 8, 8)) for m in range(24, 400, 8))
    info = replace(info, cross_sizes=sizes, cross_share=0.25)
    before = history(make)[:31]  # thirty seconds of one config
    before = [replace(row, config=before[0].config, trial=0) for row in before]
    shown: list[Progress] = []

    rows = list(before)
    runner = TickingRunner(before, 30)
    rounds(info, rows, runner).run(info.problems, shown.append)
    cut_off = rows[: len(before) + 11]  # in the middle of a size
    again = TickingRunner(before, 30 + 0.5 * 11)
    rounds(info, cut_off, again).run(info.problems, ignore_progress)

    labels = list(dict.fromkeys(row.problem.label for row in rows[len(before) :]))
    assert labels[:4] == ["8x8x8", "16x8x8", "24x8x8", "32x8x8"]
    # A round of half a second on each size: ten seconds are enough for 19.
    assert len(labels) == 2 + 19
    assert [row.problem for row in cut_off] == [row.problem for row in rows]
    assert set(labels[1:]) <= set(runner.expected)
    assert shown[-1].done == shown[-1].total == 21
    assert info.measured_on(row.problem for row in rows).cross_sizes == sizes[:19]


def test_when_no_size_is_left_the_further_ones_are_measured_again(
    make: Make, info: RunInfo
) -> None:
    sizes = tuple(replace(info.sizes[0], extents=(m, 8, 8)) for m in (24, 32, 40))
    info = replace(info, cross_sizes=sizes, cross_share=0.25)
    before = history(make)[:31]
    before = [replace(row, config=before[0].config, trial=0) for row in before]

    rows = list(before)
    shown: list[Progress] = []
    rounds(info, rows, TickingRunner(before, 30)).run(info.problems, shown.append)
    cut_off = rows[: len(before) + 11]  # in the second round of a further size
    again = TickingRunner(before, 30 + 0.5 * 11)
    rounds(info, cut_off, again).run(info.problems, ignore_progress)

    labels = [row.problem.label for row in rows[len(before) :]]
    assert labels == [
        *["8x8x8"] * 3, *["16x8x8"] * 3, "24x8x8", "32x8x8", "40x8x8",
        *["24x8x8"] * 2, *["32x8x8"] * 2, *["40x8x8"] * 2,
    ]  # fmt: skip
    assert [row.problem for row in cut_off] == [row.problem for row in rows]
    again_on = [each for each in shown if each.phase == "rounds"]
    assert [(each.done, each.total) for each in again_on] == [(0, 3), (1, 3), (2, 3)]


def test_without_a_share_all_sizes_are_measured(make: Make, info: RunInfo) -> None:
    sizes = tuple(replace(info.sizes[0], extents=(m, 8, 8)) for m in (24, 32))
    info = replace(info, cross_sizes=sizes)
    rows = history(make)[:1]

    rounds(info, rows, TickingRunner(rows, 0)).run(info.final_problems, ignore_progress)

    assert {row.problem.label for row in rows} == {"8x8x8", "16x8x8", "24x8x8", "32x8x8"}


def test_sizes_that_were_searched_on_may_be_late_but_end(make: Make, info: RunInfo) -> None:
    rows = history(make)[:1]

    rounds(info, rows, TickingRunner(rows, 0)).run(info.problems, ignore_progress, -math.inf)

    assert len(rows) == 1
