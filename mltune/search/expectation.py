"""How values are seen by a model, and what a better one is worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Self

import numpy as np
from scipy.special import ndtr

from mltune.search.encoding import Matrix, Matrix32

_LEAST_RANGE = 1e-3


class View(Enum):
    """What of the values a model is shown; how slow a slow config is helps only so far.

    CAPPED: values up to the median as they are, all others like the median.
    SPEED: the best value's time over each time; the slow ones crowd together near 0.
    """

    CAPPED = "capped"
    SPEED = "speed"


@dataclass(frozen=True, slots=True)
class Scale:
    """Turns answers, logs of times, into numbers of about zero mean and unit variance.

    A failure counts like the largest value that is told apart.

    Attributes:
        cap: the largest value that is told apart.
        best: the smallest value.
        mean: of the values as they are shown.
        spread: of the values as they are shown.
    """

    view: View
    cap: float
    best: float
    mean: float
    spread: float

    @classmethod
    def of(cls, answers: Sequence[float | None], view: View = View.CAPPED) -> Self:
        """Choose a scale for answers, of which at least one is a value."""
        values = np.array([answer for answer in answers if answer is not None])
        best = float(values.min())
        end = np.median(values) if view is View.CAPPED else values.max()
        cap = max(float(end), best + _LEAST_RANGE)
        shown = _shown(view, cap, best, answers)
        return cls(view, cap, best, float(shown.mean()), float(shown.std()) or 1.0)

    @classmethod
    def within(
        cls, answers: Sequence[float | None], view: View, reach: float, spread: float
    ) -> Self:
        """Cap at a distance from the best answer, and take over a spread that is known.

        Args:
            answers: None for a failure.
            view: what of them is shown.
            reach: the distance.
            spread: of the values from the best to the cap.
        """
        best = min((answer for answer in answers if answer is not None), default=0.0)
        cap = best + max(reach, _LEAST_RANGE)
        shown = _shown(view, cap, best, answers)
        return cls(view, cap, best, float(shown.mean()) if len(shown) else 0.0, spread)

    def units(self, answers: Sequence[float | None]) -> Matrix:
        """Return answers in units of the model."""
        return (_shown(self.view, self.cap, self.best, answers) - self.mean) / self.spread

    def answer(self, units: float) -> float:
        """Return the answer, up to the cap, that comes to a number of units."""
        shown = self.mean + self.spread * units
        if self.view is View.CAPPED:
            return min(shown, self.cap)
        return min(self.best - float(np.log(max(-shown, 1e-6))), self.cap)


def _shown(view: View, cap: float, best: float, answers: Sequence[float | None]) -> Matrix:
    capped = np.array([cap if answer is None else min(answer, cap) for answer in answers])
    return capped if view is View.CAPPED else -np.exp(best - capped)


def expected_improvement(mean: Matrix32, deviation: Matrix32, best: float) -> Matrix32:
    """Return by how much each candidate is expected to fall below the best value so far."""
    ahead = (best - mean) / deviation
    gain: Matrix32 = deviation * (
        ahead * ndtr(ahead) + np.exp(-0.5 * ahead * ahead) / np.float32(np.sqrt(2 * np.pi))
    )
    return gain
