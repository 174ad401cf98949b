"""What further trials are expected to bring."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a model expects of the most promising configs that were not tried.

    Attributes:
        gains: by how much of its time each is expected to make the best faster if it came next,
            as logs, the largest first.
    """

    gains: tuple[float, ...]

    @classmethod
    def of(cls, gains: Sequence[float], trials: int) -> Outlook:
        """Keep the largest of the expected gains."""
        return cls(tuple(sorted(gains, reverse=True)[:trials]))

    @property
    def next_gain(self) -> float:
        """The share of time that one more trial is expected to save."""
        return self.most(1)

    def most(self, trials: int) -> float:
        """The share of time that so many trials are expected to save at most.

        The best of several promises no more than all of them together.
        """
        return -math.expm1(-math.fsum(self.gains[:trials]))


@runtime_checkable
class Foreseeing(Protocol):
    """A searcher that can say what further trials are worth."""

    def outlook(self, trials: int) -> Outlook | None:
        """Return what is expected of up to so many trials; None while too little is known."""
        ...
