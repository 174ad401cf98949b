"""The time of a short kernel in sequences of launches, as programs on a GPU meet it.

Each launch begins as the last one ends. By the events of launches alone, kernels of 5 to 45 us
took 1.2 to 3.3 us longer on an H100 (driver 580.159.04), not all of them equally, and NVIDIA's
driver leaves a gap of 20 us between them. So the device is held by another kernel while the host
enqueues everything: one launch, and then sequences of which only the last launches have an event.
A sample is the time from one event to the next, less what an event adds (2.6 us there), divided
by the launches.

If the host was so slow that the device may have waited for it, the samples are taken again, up to
four times in all. The last ones count, even if they are no better: they may be too long.
"""

from __future__ import annotations

import math
import operator
import random
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate

from mltune.runner.timed import Timed, seconds_of

LONG_SECONDS = 1e-3
"""A kernel that takes longer has the same time alone."""

_LEAST_SECONDS = 8e-5  # of a sequence; then 7 of them mostly agree within 1 %
_MOST_LAUNCHES = 64
_MOST_ALONE = 8  # uncounted launches before checked ones
_HOST_SECONDS = 1e-5  # of a launch, until it is known
_MARGIN, _LEAST_HOLD, _MOST_HOLD = 1.3, 5e-5, 20e-3
_TRIES = 4
_WARMUP_SECONDS, _MOST_WARMUPS, _MOST_WARMUP_SECONDS = 0.002, 1000, 0.01
_STEADY = 0.03  # the share by which a kernel that is not warm yet becomes faster
_SHORT_SECONDS = 5e-5
_CALIBRATIONS, _MOST_EVENT_SECONDS = 3, 5e-6
_EVENTS, _MANY = 15, 16  # sequences that tell what an event takes, and the launches of long ones
_random = random.SystemRandom()  # a kernel must not be able to predict the checks


@dataclass(frozen=True, slots=True)
class SequenceClock:
    """How a device starts sequences.

    Attributes:
        follow: starts the kernel so many times, timed from the end of the launch before.
        hold: keeps the device busy for so many seconds.
        event_seconds: what the event at a sequence's end adds to it.
        is_cool: whether the device had nothing to do for a while, so that its clock may rise.
    """

    follow: Callable[[int], Timed]
    hold: Callable[[float], Timed]
    event_seconds: float = 0.0
    is_cool: bool = True


class Sequences:
    """Takes samples of one kernel, which has been launched before."""

    def __init__(
        self,
        clock: SequenceClock,
        launch: Callable[[], Timed],
        launch_checked: Callable[[], Timed] | None,
        pace: float,
        hopeless: float = math.inf,
    ) -> None:
        """Warm up, and measure the pace.

        Args:
            clock: of the device.
            launch: starts the kernel alone.
            launch_checked: starts it on memory that shows whether it does its work; None if no
                launch is checked.
            pace: seconds of a launch, about.
            hopeless: seconds of a launch above which the kernel need not be warm, unless the
                device is cool.
        """
        self._clock, self._launch, self._launch_checked = clock, launch, launch_checked
        self._host = _HOST_SECONDS  # of a launch
        self.pace = pace
        is_hopeless = pace > hopeless and not clock.is_cool
        total, least, warmups = 0.0, 0.0, 0
        if not is_hopeless and (clock.is_cool or pace > _SHORT_SECONDS):
            least = _WARMUP_SECONDS
            warmups = min(math.ceil(least / pace), _MOST_WARMUPS)
            clock.follow(warmups).wait()
        while total < _MOST_WARMUP_SECONDS:
            self.batch = _batch(self.pace)
            first, self.pace = self.take(2)
            total += self.batch * abs(first + self.pace)
            is_warm = self.pace >= (1 - _STEADY) * first
            self.pace = min(first, self.pace)  # a disturbed one makes later sequences too short
            # The launches were too few if the given pace was that of a slow launch.
            if is_hopeless or (is_warm and total + warmups * self.pace >= least):
                break
        self.batch = _batch(self.pace)

    def take(self, count: int, *, is_checked: bool = False) -> list[float]:
        """Return the seconds of a launch, in each of so many sequences.

        If `is_checked`, two launches that follow each other at a random place are checked, and one
        after the last sequence. These are not timed.
        """
        batch = self.batch
        spans = self.spans(count, batch, self._launch_checked if is_checked else None)
        return [(span - self._clock.event_seconds) / batch for span in spans]

    def spans(
        self, count: int, batch: int, check: Callable[[], Timed] | None = None
    ) -> list[float]:
        """Return the seconds of sequences of `batch` launches, each with its event.

        After `_TRIES` they may hold times in which the device waited for the host.
        """
        for _ in range(_TRIES):
            host = _MARGIN * self._host
            # The host has to be ahead by one sequence, and where it is slower, at the end, too.
            ahead = batch * (host + (count - 1) * max(host - self.pace, 0.0))
            begin = time.perf_counter()
            hold = self._clock.hold(min(_LEAST_HOLD + ahead, _MOST_HOLD))
            runs, enqueued = self._start(count, batch, check)
            runs[-1].wait()
            self._host = (enqueued[-1] - begin) / (count * batch)
            spans = [seconds_of(each) for each in runs]
            # Until when the device was busy for sure, as each sequence begins.
            busy = accumulate(spans, initial=begin + seconds_of(hold))
            if all(map(operator.lt, enqueued, busy)):
                break
        return spans

    def _start(
        self, count: int, batch: int, check: Callable[[], Timed] | None
    ) -> tuple[list[Timed], list[float]]:
        """Start sequences; return them, and when each was enqueued."""
        place = _random.randrange(count) if check else count
        runs, enqueued = [], []
        for number in range(count):
            if check and number == place:
                # Any number of launches, not only whole sequences, comes before the checked ones.
                for _ in range(_random.randrange(_MOST_ALONE)):
                    self._launch()
                for _ in range(2):
                    check()
            if number in (0, place):
                self._launch()  # at whose end the next sequence begins
            runs.append(self._clock.follow(batch))
            enqueued.append(time.perf_counter())
        if check:
            check()
        return runs, enqueued


def event_seconds(clock: SequenceClock, launch: Callable[[], Timed]) -> float:
    """Return what the event at a sequence's end adds to it, from sequences of two lengths.

    Every time of this process is less by it, so a disturbance must not pass for it: it is the
    least of three results, and at most 5 us.

    Args:
        clock: of a short kernel that has been launched before.
        launch: starts it alone.
    """
    sequences = Sequences(clock, launch, None, _LEAST_SECONDS)
    found = []
    for _ in range(_CALIBRATIONS):
        one, many = (statistics.median(sequences.spans(_EVENTS, each)) for each in (1, _MANY))
        found.append(one - (many - one) / (_MANY - 1))
    return min(max(min(found), 0.0), _MOST_EVENT_SECONDS)


def _batch(pace: float) -> int:
    """Return the launches of a sequence that is long enough."""
    return min(math.ceil(_LEAST_SECONDS / max(pace, 1e-9)), _MOST_LAUNCHES)
