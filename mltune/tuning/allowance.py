"""The time that the leaders have for further sizes, and which of these is next.

The time that was spent is computed from the run's measurements, so that a resumed search makes the
same decisions.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime

from mltune.measurement import Measurement, Phase
from mltune.problem import Problem

_LONGEST_GAP = 60.0
"""Seconds between two measurements; a longer gap does not count as work."""

_LARGEST = 0.125
"""The largest share of the time for a size that takes longer than the others."""

_GROWTH = 16
"""A size may be at most this many times as large as any before, so that its time can be estimated.
"""


class Allowance:
    """Hands out sizes while there is time for them.

    Args:
        searched: the problems of the trials.
        others: the further ones, in order of preference.
        share: of the time of trials and further sizes together, for these, if there is no end.
        rows: of the run, in the order of their measurement.
        end: when all time is used, by `time.monotonic`.
    """

    def __init__(
        self,
        searched: Sequence[Problem],
        others: Sequence[Problem],
        share: float,
        rows: Iterable[Measurement],
        end: float = math.inf,
    ) -> None:
        self._searched = frozenset(searched)
        self._others = tuple(others)
        self._further = frozenset(others)
        self._share = share
        self._end = end
        self._search_seconds = 0.0
        self._seconds: dict[Problem, float] = defaultdict(float)
        self._last = 0.0
        self._has_finals = False
        for row in rows:
            self.note(row)
        self._given = self._spent + max(end - time.monotonic(), 0.0)

    @property
    def begun(self) -> tuple[Problem, ...]:
        """The further sizes that something was measured on."""
        return tuple(problem for problem in self._others if problem in self._seconds)

    def is_further(self, problem: Problem) -> bool:
        """Whether a size is one of the further ones."""
        return problem in self._further

    def has_time_again(self, problem: Problem, times: int) -> bool:
        """Whether there is time to measure a further size so many times again."""
        return times * self._seconds[problem] < self.left

    @property
    def total(self) -> float:
        """Seconds for all further sizes together."""
        if self._given < math.inf:
            return self._given
        return self._search_seconds * self._share / (1 - self._share)

    @property
    def left(self) -> float:
        """Seconds that are left for further sizes, at least 0."""
        if self._given < math.inf:
            return max(0.0, self._end - time.monotonic())
        return max(0.0, self.total - self._spent)

    @property
    def _spent(self) -> float:
        return math.fsum(self._seconds[problem] for problem in self.begun)

    def note(self, row: Measurement) -> None:
        """Count the time of a measurement, with its preparation."""
        try:
            now = datetime.fromisoformat(row.timestamp).timestamp()
        except ValueError:  # a record of another program
            return
        before, self._last = self._last or now, now
        seconds = min(max(now - before, 0.0), _LONGEST_GAP)
        self._has_finals = self._has_finals or row.phase == Phase.FINAL
        if row.phase == Phase.SEARCH or not self._has_finals:
            self._search_seconds += seconds
        else:
            self._seconds[row.problem] += seconds

    def next(self, handed_out: Iterable[Problem] = ()) -> Problem | None:
        """Return the next size that there is time for; None if there is none.

        Args:
            handed_out: sizes that are measured before it.
        """
        begun = self.begun
        # Until there are others, the sizes of the trials are used, as the leaders' rounds also
        # draw numbers and compute references for them.
        known = begun or tuple(self._searched & self._seconds.keys())
        seconds = [self._seconds[problem] for problem in known]
        least = min(seconds, default=0.0)
        more = math.fsum(each - least for each in seconds)
        a_flop = more / math.fsum(problem.flops for problem in known) if known else 0.0
        usual = math.fsum(seconds) / max(len(seconds), 1)
        largest = max((each.flops for each in (*self._searched, *begun)), default=0.0)
        waiting = set(handed_out)
        left = self.left - sum(least + a_flop * p.flops for p in waiting - self._seconds.keys())
        for problem in self._others:
            if problem.flops > _GROWTH * largest or problem in self._seconds or problem in waiting:
                continue
            expected = least + a_flop * problem.flops
            if expected < left and expected <= max(_LARGEST * self.total, usual):
                return problem
        return None
