from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mltune.measurement import Measurement, Status


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
        ({"seconds": (1.0, 0.0)}, "times must be finite and positive"),
        ({"seconds": (float("nan"),)}, "times must be finite and positive"),
        ({"seconds": (float("inf"),)}, "times must be finite and positive"),
    ],
)
def test_times_that_cannot_be_are_refused(
    make: Callable[..., Measurement], changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        make(**changes)
