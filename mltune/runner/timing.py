"""How long a kernel takes: the device's own clock, after warm-up, several times.

The launch whose result is checked is the first warm-up, and one more follows. Then the samples
are put into the queue together, so that the device does not idle (and clock down) between them.
Caches stay warm from launch to launch. Each sample is the device's time from start to end of the
kernel; who reads them takes the median, because single samples and minima mislead by several
percent. A kernel too slow for all its samples within the limit is not timed with fewer ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from mltune.errors import MltuneError

WARMUPS = 2
"""Launches before the first sample: the one that is checked, and the one that tells the pace."""


class TooSlowError(MltuneError):
    """The samples do not fit into the time limit."""


class ClockError(MltuneError):
    """The device reported a time that cannot be."""


class Timed(Protocol):
    """A launch that can be waited for, and then knows its time."""

    @property
    def seconds(self) -> float:
        """Time on the device."""
        ...

    def wait(self) -> None:
        """Return when it has ended."""
        ...


def sample(launch: Callable[[], Timed], samples: int, seconds_left: float) -> tuple[float, ...]:
    """Time a kernel that has run once already.

    Args:
        launch: starts the kernel.
        samples: how many times are returned.
        seconds_left: the time that may be spent.

    Raises:
        TooSlowError: when the warm-up shows that the samples would take longer than that.
        ClockError: when a time is not positive.
    """
    warm_up = launch()
    warm_up.wait()
    needed = (samples + 1) * warm_up.seconds
    if needed > seconds_left:
        raise TooSlowError(
            f"one launch takes {warm_up.seconds:.3g} s: {samples} of them do not fit into the "
            f"time limit for running"
        )
    launches = [launch() for _ in range(samples)]
    for each in launches:
        each.wait()
    seconds = tuple(each.seconds for each in launches)
    if min(seconds) <= 0:
        raise ClockError(f"the device's clock gave {min(seconds)} s for a launch")
    return seconds
