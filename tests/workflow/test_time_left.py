"""The time left that a search shows: within the time limit, except where that does not end it."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from mltune.run.run import read_info
from mltune.tuning.progress import Progress
from mltune.tuning.search_options import UNLIMITED_BUDGET
from mltune.workflow.search_time import SearchTime
from mltune.workflow.worker import _show_open


@pytest.mark.parametrize(
    ("phase", "named", "seconds"),
    [("leaders", True, 400.0), ("leaders", False, 20.0), ("search", True, 20.0)],
)
def test_leaders_that_meet_on_named_sizes_take_longer_than_the_limit(
    phase: str, named: bool, seconds: float
) -> None:
    info = read_info(Path("runs/2026-11-21-sgemm-nn-pocl"))
    if not named:
        info = replace(info, cross_share=0.4)
    shown: list[Progress] = []

    show = SearchTime(time.monotonic(), 20.0).with_time_left(shown.append, info, configs=100)
    show(Progress(phase=phase, done=1, total=9, seconds_left=400.0))

    assert shown[0].seconds_left == pytest.approx(seconds, abs=1.0)


@pytest.mark.parametrize(
    ("budget", "limit", "done", "total", "seconds"),
    [
        (500, None, 20, 100, 80.0),
        (60, None, 20, 60, 40.0),
        (UNLIMITED_BUDGET, 1e6, 20, 100, 80.0),
        (500, None, 100, 100, 0.0),
    ],
)
def test_a_space_with_fewer_configs_ends_the_trials(
    budget: int, limit: float | None, done: int, total: int, seconds: float
) -> None:
    info = read_info(Path("runs/2026-11-21-sgemm-nn-pocl"))
    shown: list[Progress] = []

    show = SearchTime(time.monotonic(), limit).with_time_left(shown.append, info, configs=100)
    left = float(budget - done)  # a second each
    show(Progress(phase="search", done=done, total=budget, per_minute=60.0, seconds_left=left))

    assert (shown[0].done, shown[0].total) == (done, total)
    assert shown[0].seconds_left == pytest.approx(seconds, rel=1e-3)


def test_a_worker_shows_no_end_of_trials_that_a_time_limit_ends() -> None:
    shown: list[Progress] = []

    for total in (UNLIMITED_BUDGET, 60):
        progress = Progress(phase="search", done=15, total=total, seconds_left=9.0)
        _show_open(shown.append, progress)

    assert [(each.done, each.total, each.seconds_left) for each in shown] == [
        (15, 0, None),
        (15, 60, 9.0),
    ]


def test_the_forecast_counts_the_start_on_a_gpu_and_the_named_sizes() -> None:
    info = read_info(Path("runs/2026-11-21-sgemm-nn-pocl"))
    assert (len(info.problems), len(info.final_problems)) == (7, 421)
    alone = replace(info, cross_sizes=())
    on_gpu = replace(alone, device=replace(info.device, kind="gpu"))

    said = [SearchTime(time.monotonic()).forecast(each, 10) for each in (alone, on_gpu, info)]

    about = "10 trials and the leaders' rounds: about"
    assert said == [f"{about} {each}, by other devices" for each in ("11 s", "7 s", "7 min")]
