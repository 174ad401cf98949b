"""The models' expectations: for single candidates, and for the best of several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mltune.search.candidates import Candidates
from mltune.search.encoding import Matrix, Matrix32
from mltune.search.expectation import expected_improvement
from mltune.search.gaussian_process import GaussianProcess

_DRAWS = 256
_REACH = 2.0
"""Deviations below its mean that a config may well reach. Of 1, 2 and no limit, 2 was best on two
recorded spaces (seeds 6000 to 6019); on three it won 0.005 after 200 configs (6040 to 6079).
Max-value entropy search (Wang and Jegelka, ICML 2017) found no better ones: 0.005 (0.003 standard
error) after 50 configs, 0.000 (0.002) after 100, -0.003 (0.001) after 200 (6400 to 6685).
"""


@dataclass(frozen=True, slots=True)
class Posterior:
    """One model's expectations for the candidates, in its own units.

    Attributes:
        process: the model.
        mean: by size and candidate.
        deviation: by candidate, or by size and candidate if `slope` is not 1.
        best: by size, the best answer.
        spreads: by size, the approximate size of a unit in logs.
        slope: by size and candidate, the size of the process's unit in the other units.
    """

    process: GaussianProcess
    mean: Matrix32
    deviation: Matrix32
    best: Matrix32
    spreads: Matrix32
    slope: Matrix32 | None = None

    @property
    def gains(self) -> Matrix32:
        """Return the expected improvement on the best answer, by size and candidate.

        It is about a difference of logs.
        """
        return self._gains_on(self.best)

    def gains_within_reach(self, free: NDArray[np.bool_]) -> Matrix32:
        """Return the same, on a worse answer where no free candidate may well beat the best one.

        Beyond that the normal distribution's tail would decide: it favours candidates of which
        little is known over those with the best means.

        Args:
            free: the candidates that were not visited.
        """
        lowest = (self.mean - _REACH * self.deviation)[:, free]
        reached = lowest.min(axis=1) if free.any() else self.best
        return self._gains_on(np.maximum(self.best, reached))

    def _gains_on(self, best: Matrix32) -> Matrix32:
        gains = expected_improvement(self.mean, self.deviation, best[:, None])
        return gains * self.spreads[:, None]

    def together(self, numbers: Sequence[int]) -> Matrix:
        """Return the expected improvement by the best of some candidates, by size.

        The values of similar candidates are correlated, so it is less than the sum of the
        candidates' improvements. It is estimated by draws from the posterior.
        """
        covariance = self.process.covariance_among(numbers)
        sizes, directions = np.linalg.eigh(covariance)
        root = directions * np.sqrt(np.maximum(sizes, 0))
        drawn = root @ np.random.default_rng(0).standard_normal((len(numbers), _DRAWS))
        slopes = np.ones_like(self.mean) if self.slope is None else self.slope
        lowest = np.array(
            [
                (mean[:, None] + slope[:, None] * drawn).min(axis=0)
                for mean, slope in zip(self.mean[:, numbers], slopes[:, numbers], strict=True)
            ]
        )
        improvement = np.maximum(self.best[:, None] - lowest, 0).mean(axis=1)
        expected: Matrix = improvement * self.spreads
        return expected


@dataclass(frozen=True, slots=True)
class Forecast:
    """The mean of several models' expectations, with equal weights.

    Attributes:
        gains: by size and candidate: the expected improvement on the best answer in approximate
            logs.
        unknown: the sizes without a prediction, on which nothing is gained.
    """

    candidates: Candidates
    gains: Matrix32
    posteriors: tuple[Posterior, ...]
    unknown: NDArray[np.bool_]

    @classmethod
    def of(
        cls,
        candidates: Candidates,
        posteriors: Sequence[Posterior],
        unknown: NDArray[np.bool_],
    ) -> Forecast:
        """Return the mean of the models' expectations."""
        gains = np.mean([posterior.gains for posterior in posteriors], axis=0)
        gains[unknown] = 0
        return cls(candidates, gains, tuple(posteriors), unknown)

    def gains_within_reach(self, free: NDArray[np.bool_]) -> Matrix32:
        """Return the mean of `Posterior.gains_within_reach`."""
        gains: Matrix32 = np.mean(
            [one.gains_within_reach(free) for one in self.posteriors], axis=0
        )
        return gains

    def together(self, numbers: Sequence[int]) -> Matrix:
        """Return the expected improvement by the best of some candidates, by size."""
        expected: Matrix = np.mean([one.together(numbers) for one in self.posteriors], axis=0)
        expected[self.unknown] = 0
        return expected
