"""The time of a kernel: by the device's own clock, after warm-up, several times.

The launch whose result is checked is the first warm-up; more follow until the pace is steady. Then
all samples are enqueued together, so that the device does not idle (and clock down) between them.
Each sample is the device's time from start to end of the kernel; later stages use the median,
because single samples and minima mislead by several percent. More samples follow while the median
is not known well enough, up to a limit.

Where a device prefers it, short kernels are timed in sequences (see `sequences`). Elsewhere, one
that is short compared with the clock's resolution is launched several times for each sample, which
is the mean of their times: so the clock's steps average out. A kernel clearly slower
than one that is known already gets few samples (racing). A long one whose first two launches both
take far longer gets one sample, the second launch. A kernel too slow for all its samples within
the time limit is not timed with fewer ones.

Some random launches are checked: two that follow each other, for kernels that compute only every
second time, and the last one, for those that stop. If launches are long these are samples like the
others; short ones, which a check could slow down, are launched in addition and do not count.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from mltune.errors import MltuneError
from mltune.runner.sequences import LONG_SECONDS, SequenceClock, Sequences
from mltune.runner.timed import Timed, seconds_of

WARMUPS = 2
"""Launches before the first sample, at least: the checked one, and one to measure the pace."""

RACING_SAMPLES = 3
"""Samples of a kernel that is clearly slower than the leader."""

_FAR_SLOWER = 2.0
"""A long kernel has lost the race if its first two launches take so many times the limit."""

_HOPELESS = 1.5
"""A short one whose second launch takes so many times the limit is hardly warmed up."""

_WARMUP_LAUNCHES = 20
_WARMUP_SECONDS = 0.002
_MOST_WARMUP_SECONDS = 0.01
_BURST, _BURST_SECONDS = 10, 0.0005
_STEADY = 0.03
_TICKS = 20  # a shorter sample is wrong by up to a tenth
_MOST_LAUNCHES = 64
_random = random.SystemRandom()  # a kernel must not be able to predict the checks


class TooSlowError(MltuneError):
    """The samples do not fit into the time limit."""


class ClockError(MltuneError):
    """The device reported an impossible time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingPlan:
    """How many samples to take of a kernel.

    Attributes:
        samples: the least number, unless the kernel loses the race.
        most_samples: the largest number.
        tolerance: the largest share of the median between it and either end of its 95 % confidence
            interval.
        extra_seconds: time on the device that samples beyond `samples` may take.
        give_up_above: seconds; a kernel whose first samples are all slower lost the race.
        cold: whether caches are emptied before each sample, rather than warm from the last.
    """

    samples: int
    most_samples: int = 35
    tolerance: float = 0.01
    extra_seconds: float = 0.0
    give_up_above: float | None = None
    cold: bool = False


def sample(
    launch: Callable[[], Timed],
    plan: SamplingPlan,
    *,
    checked_seconds: float = 0.0,
    seconds_left: float = math.inf,
    least_seconds: float = 0.0,
    tick_seconds: float = 0.0,
    evict: Callable[[], None] | None = None,
    launch_checked: Callable[[], Timed] | None = None,
    short_seconds: float = 0.0,
    sequences: SequenceClock | None = None,
) -> tuple[float, ...]:
    """Time a kernel that has run once already.

    Args:
        launch: starts the kernel.
        plan: the number of samples.
        checked_seconds: of the launch whose result was just checked; 0 if there was none, or if
            the device's clock may have been low.
        seconds_left: the time limit.
        least_seconds: a shorter time than this is beyond the device.
        tick_seconds: resolution of the device's clock.
        evict: starts a kernel that empties the caches, for a cold plan.
        launch_checked: starts the kernel on memory that shows whether it does its work.
        short_seconds: shorter launches than this are slower when they are checked.
        sequences: times short kernels with warm caches; None where single launches do.

    Raises:
        TooSlowError: when the first launch shows that the samples would take longer than that.
        ClockError: when the device reports an impossible time.
    """
    alone = _Alone(
        launch, launch_checked, evict if plan.cold else None, least_seconds, tick_seconds
    )
    sampler: _Sampler = alone
    first = alone.first(plan.samples, seconds_left)
    limit = math.inf if plan.give_up_above is None else plan.give_up_above
    if min(checked_seconds, first) > max(_FAR_SLOWER * limit, LONG_SECONDS):
        return (first,)
    pace = min(first, checked_seconds or first)  # one of the two launches may be disturbed
    if sequences is not None and not plan.cold and pace < LONG_SECONDS:
        sampler = Sequences(sequences, launch, launch_checked, pace, _HOPELESS * limit)
    else:
        alone.warm_up(plan.samples, seconds_left, short_seconds)

    def take(count: int, *, is_checked: bool = False) -> list[float]:
        taken = sampler.take(count, is_checked=is_checked)
        _refuse_impossible(taken, least_seconds)
        return taken

    seconds: list[float] = []
    if plan.give_up_above is not None:
        is_all = plan.samples <= RACING_SAMPLES and launch_checked is not None
        seconds = take(min(RACING_SAMPLES, plan.samples), is_checked=is_all)
        if min(seconds) > limit:
            return tuple(seconds)
    # Neither the race's first samples nor additional ones are checked, as no kernel can tell which
    # these are.
    if len(seconds) < plan.samples:
        seconds += take(plan.samples - len(seconds), is_checked=True)
    extra = 0.0
    while (
        len(seconds) < plan.most_samples
        and spread(seconds) > plan.tolerance
        and extra + plan.samples * sampler.batch * sampler.pace
        <= min(plan.extra_seconds, seconds_left)
    ):
        more = take(min(plan.samples, plan.most_samples - len(seconds)))
        extra += math.fsum(more) * sampler.batch
        seconds += more
    return tuple(seconds)


class _Sampler(Protocol):
    """Takes samples of one kernel.

    Attributes:
        pace: seconds of a launch.
        batch: launches of a sample.
    """

    pace: float
    batch: int

    def take(self, count: int, *, is_checked: bool = False) -> list[float]:
        """Return the seconds of a launch, in each of so many samples.

        If `is_checked`, some launches, chosen at random, are checked.
        """
        ...


class _Alone:
    """Takes samples by the device's times of single launches."""

    def __init__(
        self,
        launch: Callable[[], Timed],
        launch_checked: Callable[[], Timed] | None,
        evict: Callable[[], None] | None,
        least_seconds: float,
        tick_seconds: float,
    ) -> None:
        self._launch, self._launch_checked, self._evict = launch, launch_checked, evict
        self._least_seconds, self._tick_seconds = least_seconds, tick_seconds
        self._is_long = False  # whether a checked launch takes no longer than another
        self._times: list[float] = []
        self.pace = 0.0
        self.batch = 1

    def first(self, samples: int, seconds_left: float) -> float:
        """Launch once, and return its time.

        Raises:
            TooSlowError: when so many samples would take longer than what is left.
        """
        return self._run(1, samples, seconds_left)

    def warm_up(self, samples: int, seconds_left: float, short_seconds: float) -> None:
        """Launch until the time is steady, or a limit is reached; then the pace is known.

        Raises:
            TooSlowError: when so many samples would take longer than what is left.
        """
        times = self._times
        while math.fsum(times) < _MOST_WARMUP_SECONDS and len(times) < 5 * _WARMUP_LAUNCHES:
            enough = math.fsum(times) >= _WARMUP_SECONDS or len(times) >= _WARMUP_LAUNCHES
            if enough and (len(times) < 3 or _is_steady(times[-3:])):
                break
            # Tiny kernels are launched several at once, as waiting for each takes longer.
            self._run(min(int(_BURST_SECONDS / times[-1]), _BURST), samples, seconds_left)
        self.pace = times[-1]
        self._is_long = self.pace >= short_seconds
        if self._evict is None:
            self.batch = _launches_a_sample(self.pace, self._tick_seconds)

    def take(self, count: int, *, is_checked: bool = False) -> list[float]:
        """Return the seconds of a launch, in each of so many samples."""
        times = {}
        if is_checked and self._launch_checked is not None:
            times = _checked_launches(count * self.batch, self._is_long)

        def counted(number: int) -> Timed:
            if self._is_long:
                return self._start(is_checked=number in times)
            for _ in range(times.get(number, 0)):
                self._start(is_checked=True)
            return self._start()

        runs = [
            [counted(run * self.batch + each) for each in range(self.batch)]
            for run in range(count)
        ]
        for run in runs:
            run[-1].wait()
        # Launch by launch: from the first one's start to the last one's end there are gaps, too.
        return [math.fsum(map(seconds_of, run)) / self.batch for run in runs]

    def _start(self, *, is_checked: bool = False) -> Timed:
        if self._evict is not None:
            self._evict()
        checked = self._launch_checked if is_checked else None
        return (checked or self._launch)()

    def _run(self, count: int, samples: int, seconds_left: float) -> float:
        """Launch so often, at least once; note all times and return the last one."""
        runs = [self._start() for _ in range(max(count, 1))]
        runs[-1].wait()
        times = [seconds_of(each) for each in runs]
        _refuse_impossible(times, self._least_seconds)
        self._times += times
        if math.fsum(self._times) + (samples + 1) * times[-1] > seconds_left:
            raise TooSlowError(
                f"one launch takes {times[-1]:.3g} s: {samples} of them do not fit into the "
                f"time limit for running"
            )
        return times[-1]


def _launches_a_sample(pace: float, tick_seconds: float) -> int:
    """Return the number of launches of a short kernel for a sample that the clock can resolve."""
    if pace >= _TICKS * tick_seconds:
        return 1
    return min(math.ceil(_TICKS * tick_seconds / pace), _MOST_LAUNCHES)


def _checked_launches(count: int, is_long: bool) -> dict[int, int]:
    """Choose which launches in a row are checked, with the number of checked ones before each."""
    first, last = _random.randrange(max(count - 1, 1)), count - 1
    return {last: 1, first + 1: 1, first: 1} if is_long else {last: 1, first: 2}


def median_interval(seconds: Sequence[float]) -> tuple[float, float]:
    """Return a 95 % confidence interval of the median, by order statistics.

    It assumes nothing about how the times are distributed. With fewer than six samples there is
    no such interval, and the range of the samples is returned.
    """
    ordered = sorted(seconds)
    count = len(ordered)
    below, rank = 0.0, 0
    while True:
        below += math.comb(count, rank) / 2**count
        if below > 0.025:
            break
        rank += 1
    rank = max(rank, 1)
    return ordered[rank - 1], ordered[count - rank]


def spread(seconds: Sequence[float]) -> float:
    """Return the distance of the interval's farther end from the median, relative to it."""
    low, high = median_interval(seconds)
    median = statistics.median(seconds)
    return max(high - median, median - low) / median


def _is_steady(times: Sequence[float]) -> bool:
    return max(times) <= (1 + _STEADY) * min(times)


def _refuse_impossible(times: Sequence[float], least_seconds: float) -> None:
    for seconds in times:
        if seconds <= 0:
            raise ClockError(f"the device's clock gave {seconds} s for a launch")
        if seconds < least_seconds:
            raise ClockError(
                f"the device's clock gave {seconds:.3g} s for a launch, and no such device "
                f"computes that in less than {least_seconds:.3g} s"
            )
