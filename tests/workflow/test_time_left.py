"""The time left that a search shows: within the time limit, except where that does not end it."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from mltune.run.run import read_info
from mltune.tuning.progress import Progress
from mltune.tuning.search_options import SearchOptions
from mltune.workflow.search import _whole


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

    show = _whole(shown.append, info, SearchOptions(time_limit_seconds=20.0), time.monotonic())
    show(Progress(phase=phase, done=1, total=9, seconds_left=400.0))

    assert shown[0].seconds_left == pytest.approx(seconds, abs=1.0)
