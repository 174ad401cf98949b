"""Scores: how good predictions are on sizes that the model has not seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """Predicted against measured times, on held-out sizes.

    Attributes:
        rmse_log: root mean square of log(predicted / measured); 0.1 is about 10 %.
        spearman: mean over the sizes of the rank correlation over the configs of a size.
        top_1: geometric mean over the sizes of best measured time / measured time of the config
            that was predicted to be the fastest; 1 is perfect.
        top_5: the same for the best of the five that were predicted to be the fastest.
    """

    sizes: int
    rows: int
    rmse_log: float
    spearman: float
    top_1: float
    top_5: float


def score(groups: NDArray[np.intp], predicted: Array, measured: Array) -> Scores:
    """Compare log seconds; rows with the same number in `groups` are of one size."""
    correlations, first, fifth = [], [], []
    for group in np.unique(groups):
        guess, truth = predicted[groups == group], measured[groups == group]
        by_guess = truth[np.argsort(guess, kind="stable")]
        first.append(by_guess[0] - truth.min())
        fifth.append(by_guess[:5].min() - truth.min())
        if len(truth) > 1:
            correlations.append(_spearman(guess, truth))
    return Scores(
        sizes=len(first),
        rows=len(measured),
        rmse_log=float(np.sqrt(np.mean((predicted - measured) ** 2))),
        spearman=float(np.mean(correlations)) if correlations else 0.0,
        top_1=float(np.exp(-np.mean(first))),
        top_5=float(np.exp(-np.mean(fifth))),
    )


def _spearman(first: Array, second: Array) -> float:
    """Return Spearman's rank correlation; 0 if either argument is constant."""
    ranks = [_ranks(values) - (len(values) - 1) / 2 for values in (first, second)]
    norm = float(np.linalg.norm(ranks[0]) * np.linalg.norm(ranks[1]))
    return float(ranks[0] @ ranks[1]) / norm if norm else 0.0


def _ranks(values: Array) -> Array:
    """Return ranks from 0; equal values have the mean of their ranks."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts + 1) / 2)[place])
