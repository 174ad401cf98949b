"""The expected gain of further trials."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ExpectedGain:
    """The expected gain of the most promising unvisited configs.

    Attributes:
        next_log: by how much the next one is expected to make the best faster, as a log.
        trials: how many are looked ahead.
        ahead_log: by how much the best of so many is expected to make it faster.
    """

    next_log: float
    trials: int
    ahead_log: float

    @property
    def next_gain(self) -> float:
        """The share of time that one more trial is expected to save."""
        return -math.expm1(-self.next_log)

    @property
    def ahead_gain(self) -> float:
        """The share of time that all the trials are expected to save."""
        return -math.expm1(-self.ahead_log)
