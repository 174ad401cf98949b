"""The expected gain of further trials."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ExpectedGain:
    """The expected gain of the most promising unvisited configs.

    Attributes:
        next_log: of the next config, as the log of best time / expected best time.
        trials: number of further trials.
        ahead_log: of all these trials, likewise.
    """

    next_log: float
    trials: int
    ahead_log: float

    @property
    def next_gain(self) -> float:
        """The share of time that one more trial should save."""
        return -math.expm1(-self.next_log)

    @property
    def ahead_gain(self) -> float:
        """The share of time that all the trials should save."""
        return -math.expm1(-self.ahead_log)
