from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mltune.measurement import Measurement, Status
from mltune.measurement.recording import Point
from mltune.space.config import Config


def test_the_reported_time_is_the_median(make: Callable[..., Measurement]) -> None:
    measurement = make(seconds=(5.0, 1.0, 2.0))

    assert measurement.median == 2.0
    assert measurement.gflops == 2 * 4 * 5 * 6 / 2.0 / 1e9


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.OK])
def test_a_failure_has_no_time(make: Callable[..., Measurement], status: Status) -> None:
    measurement = make(status=status)

    assert measurement.median is None
    assert measurement.gflops is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seconds": ()}, "times and status disagree: ok with 0 times"),
        (
            {"status": Status.TIMEOUT, "seconds": (1.0,)},
            "times and status disagree: timeout with 1 times",
        ),
        ({"seconds": (1.0, 0.0)}, "times must be from 1e-12 to 1e9 seconds"),
        ({"seconds": (5e-324,)}, "times must be from 1e-12 to 1e9 seconds"),
        ({"seconds": (1e308, 1e308)}, "times must be from 1e-12 to 1e9 seconds"),
        ({"seconds": (float("nan"),)}, "times must be from 1e-12 to 1e9 seconds"),
        ({"seconds": (float("inf"),)}, "times must be from 1e-12 to 1e9 seconds"),
    ],
)
def test_times_that_cannot_be_are_refused(
    make: Callable[..., Measurement], changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        make(**changes)


@pytest.mark.parametrize("seconds", [0.0, 5e-324, 1e308, float("inf"), float("nan")])
def test_a_point_has_no_such_time_either(seconds: float) -> None:
    with pytest.raises(ValueError, match="a time must be from 1e-12 to 1e9 seconds"):
        Point(Config.of({"x": 1}), seconds, Status.OK)


@pytest.mark.parametrize(("seconds", "status"), [(1e-3, Status.TIMEOUT), (None, Status.OK)])
def test_a_point_has_a_time_if_it_is_right(seconds: float | None, status: Status) -> None:
    with pytest.raises(ValueError, match="time and status disagree"):
        Point(Config.of({"x": 1}), seconds, status)
