"""How a search divides its time among the trials, the leaders and a comparison with libraries."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace

from mltune.counted import counted
from mltune.run.run_info import RunInfo
from mltune.tuning.cross_sizes import SHARE
from mltune.tuning.progress import Progress, Show
from mltune.tuning.search_options import UNLIMITED_BUDGET
from mltune.workflow.shipped_priors import name_leaders

_USUAL_SIZES = 16
"""On fewer sizes, the leaders take less than their share of a time limit."""

_COMPARE_SECONDS = 4.0
_START_SECONDS = 40.0
"""For the libraries to start: CLBlast compiles its kernels once, in 14 s on PoCL."""
_LIMITED_START_SECONDS = 10.0
"""The same in a search with a time limit."""
_LEADERS_SECONDS = 25.0
"""The least time for the leaders of a longer search; an H200 times 40 on 100 sizes in it."""

_BEGIN_SECONDS = 6.0
"""On a GPU, until trials come at their full pace: 5 to 8 s in 22 searches on an H100 or H200."""

_KNOWN_SHARE = 0.45
"""Of a time limit, for the leaders, where priors name fast kernels: fewer trials do then."""


@dataclass(frozen=True, slots=True)
class SearchTime:
    """The time of one call of a search.

    Attributes:
        started: when it began, by `time.monotonic`.
        limit_seconds: None without a time limit.
        compares: whether the result is compared with installed libraries.
    """

    started: float
    limit_seconds: float | None = None
    compares: bool = False

    @property
    def _limit(self) -> float:
        return math.inf if self.limit_seconds is None else self.limit_seconds

    @property
    def elapsed(self) -> float:
        """The seconds since the search began."""
        return time.monotonic() - self.started

    def of_trials(self, info: RunInfo) -> float | None:
        """Return the time in which trials may begin, so that the leaders end within the limit.

        The start of the command counts, too, but some trials are made in any case.
        """
        limit = self.limit_seconds
        if limit is None:
            return None
        share = info.cross_share or SHARE * min(1.0, len(info.final_problems) / _USUAL_SIZES)
        if info.cross_share and name_leaders(info.priors):
            share = _KNOWN_SHARE
        of_leaders = share * limit
        if info.cross_share:  # a selector needs the leaders on many sizes, however short it is
            of_leaders = max(of_leaders, min(_LEADERS_SECONDS, limit / 2))
        return max(limit - of_leaders - self.elapsed, limit / 4)

    @property
    def end_of_leaders(self) -> float:
        """When the leaders end, by `time.monotonic`; infinity without a time limit."""
        return self.started + self._limit - 2 * self.of_comparison(self._limit)

    def of_comparison(self, elapsed: float) -> float:
        """Return the time for comparing with libraries: a small part of the search.

        It is 0 for no comparison, as after a search of some seconds.
        """
        seconds = min(_COMPARE_SECONDS, elapsed / 10, self._limit / 30)
        return seconds if self.compares and seconds >= 1 else 0.0

    @property
    def of_libraries_start(self) -> float:
        """The most time for the libraries to start."""
        return _START_SECONDS if self.limit_seconds is None else _LIMITED_START_SECONDS

    def forecast(self, info: RunInfo, trials: int) -> str:
        """Say how long it may take: the time limit, or by the pace on similar devices."""
        if self.limit_seconds is not None:
            ends = f"ends after about {self.limit_seconds:.0f} s"
            if named := _named_sizes(info):
                ends += f", not before the leaders are timed on the {named:,} of --cross-sizes"
            if trials >= UNLIMITED_BUDGET:
                return ends
            return f"{ends}, or {counted(trials, 'trial')} and the leaders' rounds"
        begin, trial, each, more = (_BEGIN_SECONDS, 0.1, 0.006, 0.5)
        if info.device.kind == "cpu":
            begin, trial, each, more = (0.0, 0.5, 0.08, 1.0)
        seconds = begin + more * _named_sizes(info)
        seconds += trials * (trial + each * len(info.sizes)) / (1 - info.cross_share)
        seconds += self.of_comparison(seconds)
        text = f"{seconds / 60:.0f} min" if seconds >= 100 else f"{seconds:.0f} s"
        return (
            f"{counted(trials, 'trial')} and the leaders' rounds: about {text}, by other devices"
        )

    def with_time_left(self, show: Show, info: RunInfo, configs: int) -> Show:
        """Return a callback that shows the time left of the whole search, not of its trials alone.

        Args:
            show: called with the changed progress.
            info: of the run.
            configs: the number of configs in the space.
        """
        end = self.started + self._limit
        times_named = _named_sizes(info) > 0
        began = time.monotonic()
        end_of_trials = began + (self.of_trials(info) or 0.0)

        def shown(progress: Progress) -> None:
            left, now = progress.seconds_left, time.monotonic()
            done, total = progress.done, progress.total
            if progress.phase == "search" and done <= configs < total:  # the space ends the trials
                left = None if left is None else left * (configs - done) / (total - done)
                total = configs
            if left is not None and progress.phase == "search":
                of_trials = left + now - began
                left += of_trials * info.cross_share / (1 - info.cross_share)
            if left is not None and not (times_named and progress.phase == "leaders"):
                left = max(0.0, min(left, end - now))
            if progress.total >= UNLIMITED_BUDGET:  # as many as their part of the time allows
                later = (progress.per_minute or 0.0) / 60 * (end_of_trials - now)
                total = min(total, done + max(1, round(later)))
            show(replace(progress, seconds_left=left, total=total))

        return shown


def _named_sizes(info: RunInfo) -> int:
    """Return how many further sizes the leaders are timed on, whatever the time limit."""
    return len(info.final_problems) - len(info.problems)
