"""The transformation of values for a model, and the expected improvement."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Self

import numpy as np
from scipy.special import ndtr

from mltune.search.encoding import Matrix, Matrix32

_LEAST_RANGE = 1e-3


class View(Enum):
    """A transformation of values for a model, which reduces differences between slow configs.

    CAPPED: values above the median count as the median. SPEED: the best time divided by each time;
    slow configs are close together near 0.
    """

    CAPPED = "capped"
    SPEED = "speed"


@dataclass(frozen=True, slots=True)
class Scale:
    """Turns answers, logs of times, into numbers of about zero mean and unit variance.

    A failure counts as `cap`.

    Attributes:
        cap: the largest value; larger ones count as this one.
        best: the smallest value.
        mean: of the transformed values.
        spread: of the transformed values.
    """

    view: View
    cap: float
    best: float
    mean: float
    spread: float

    @classmethod
    def of(cls, answers: Matrix, view: View = View.CAPPED) -> Self:
        """Choose a scale for answers, which are infinite for a failure, nan if unknown."""
        values = answers[np.isfinite(answers)]
        if not len(values):
            return cls.within(answers, view, 0.0, 1.0)
        best = float(values.min())
        end = np.median(values) if view is View.CAPPED else values.max()
        cap = max(float(end), best + _LEAST_RANGE)
        shown = _shown(view, cap, best, answers[~np.isnan(answers)])
        return cls(view, cap, best, float(shown.mean()), float(shown.std()) or _LEAST_RANGE)

    @classmethod
    def within(cls, answers: Matrix, view: View, reach: float, spread: float) -> Self:
        """Choose a scale that caps at a distance from the best answer, with a known spread.

        Args:
            answers: infinite for a failure, nan if unknown.
            view: the transformation.
            reach: the distance.
            spread: of the values from the best to the cap.
        """
        best = float(answers[np.isfinite(answers)].min(initial=np.inf))
        best = best if np.isfinite(best) else 0.0
        cap = best + max(reach, _LEAST_RANGE)
        shown = _shown(view, cap, best, answers[~np.isnan(answers)])
        return cls(view, cap, best, float(shown.mean()) if len(shown) else 0.0, spread)

    def units(self, answers: Matrix) -> Matrix:
        """Return answers in units of the model; nan stays nan."""
        units: Matrix = (_shown(self.view, self.cap, self.best, answers) - self.mean) / self.spread
        return units

    def with_extra(
        self, units: Matrix32, extra: Matrix, least: float
    ) -> tuple[Matrix32, Matrix32]:
        """Add a known part to answers that this scale was chosen for without it.

        Args:
            units: of answers without the part.
            extra: the part, for each of them.
            least: the smallest answer with it.

        Returns:
            Units of the whole answers, and how much a unit of the others is in these.
        """
        if self.view is View.CAPPED:
            return (units + extra / self.spread).astype(np.float32), np.ones_like(units)
        slope = np.exp(least - self.best - extra)
        whole = ((units * self.spread + self.mean) * slope - self.mean) / self.spread
        return whole.astype(np.float32), slope.astype(np.float32)

    def of_best(self, least: float, best: float) -> float:
        """Return the units of the answer to beat, after `with_extra` has added a known part."""
        shown = best if self.view is View.CAPPED else -float(np.exp(least - best))
        return (shown - self.mean) / self.spread


def _shown(view: View, cap: float, best: float, answers: Matrix) -> Matrix:
    capped = np.minimum(answers, cap)
    return capped if view is View.CAPPED else -np.exp(best - capped)


def expected_improvement(mean: Matrix32, deviation: Matrix32, best: Matrix32) -> Matrix32:
    """Return the expected improvement of each candidate on the best value so far.

    Args:
        mean: by size and candidate.
        deviation: by candidate.
        best: by size, a row each.
    """
    ahead = (best - mean) / deviation
    gain: Matrix32 = deviation * (
        ahead * ndtr(ahead) + np.exp(-0.5 * ahead * ahead) / np.float32(np.sqrt(2 * np.pi))
    )
    return gain
