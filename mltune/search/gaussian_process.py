"""A Gaussian process over configs: predicts a config's value and its standard deviation.

The kernel is a product over parameters (similar configs have similar values) plus a sum over
parameters (each value has an effect of its own), both Matérn 5/2. The distance between two values
of a parameter is learned: the measurements determine the weights of the steps along the numbers
and of being different at all. The hyperparameters maximise the posterior density.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.linalg.lapack import dpotrf, dpotrs
from scipy.optimize import minimize

from mltune.search.encoding import Encoding, Matrix, Matrix32
from mltune.space.ranks import Ranks

_SHARED = 1.0
_SINGLE = 0.5
_NOISE = 0.01
_LOG_SPREADS = (1.0, 0.7, 1.0, 1.0)
"""Prior standard deviations of the logs of length scales, shared and single variance, and noise.
"""
_MOST_STRAY = 5.0
_JITTER = 1e-5
_ITERATIONS = 20
_MOST_FITTED = 256


@dataclass(frozen=True, slots=True)
class Hyperparameters:
    """The learned hyperparameters of the kernel.

    Attributes:
        logs: of the length scale of each distance table, then of the shared variance, the
            single variance and the noise variance.
    """

    logs: Matrix

    @property
    def weights(self) -> Matrix:
        """The weights of the tables' squared distances."""
        weights: Matrix = np.exp(-2 * self.logs[:-3])
        return weights

    @property
    def shared(self) -> float:
        """Variance of the product over parameters."""
        return math.exp(self.logs[-3])

    @property
    def single(self) -> float:
        """Variance of the sum over parameters."""
        return math.exp(self.logs[-2])

    @property
    def noise(self) -> float:
        """Variance of a measurement."""
        return math.exp(self.logs[-1])


def fit(
    encoding: Encoding,
    ranks: Ranks,
    values: Matrix,
    basis: Matrix,
    *,
    variance: float,
    length: float,
) -> Hyperparameters:
    """Find the hyperparameters with the largest posterior density.

    Args:
        encoding: of the space's parameters.
        ranks: of the configs, a row each.
        values: by config and size, of about zero mean and unit variance at each size.
        basis: known functions at the configs, a column each, with unknown coefficients.
        variance: the usual share of the variance that these do not explain.
        length: the typical length scale; the range of a parameter is 1.
    """
    if len(values) > _MOST_FITTED:
        # The best half decides where the search continues; the rest is spread over the others.
        order = np.argsort(values.min(axis=1), kind="stable")
        half = _MOST_FITTED // 2
        spread = np.linspace(half, len(values) - 1, _MOST_FITTED - half).astype(np.int64)
        kept = np.sort(order[np.concatenate((np.arange(half), spread))])
        ranks, values, basis = ranks[kept], values[kept], basis[kept]
    typical = _typical(encoding, variance, length)
    if not len(values):
        return Hyperparameters(typical)
    spreads = np.concatenate((np.full(len(typical) - 3, _LOG_SPREADS[0]), _LOG_SPREADS[1:]))
    density = _Density(encoding, ranks, values, basis @ basis.T, typical, spreads)
    found = minimize(
        density,
        typical,
        jac=True,
        method="L-BFGS-B",
        bounds=np.stack((typical - _MOST_STRAY * spreads, typical + _MOST_STRAY * spreads), 1),
        options={"maxiter": _ITERATIONS},
    )
    return Hyperparameters(found.x)


def _typical(encoding: Encoding, variance: float, length: float) -> Matrix:
    lengths = np.full(len(encoding.tables), length)
    variances = (_SHARED * variance, _SINGLE * variance, _NOISE)
    return np.log(np.concatenate((lengths, variances)))


class _Density:
    """The negative log posterior density of hyperparameters, with its gradient.

    Terms that depend on two values of a parameter are computed once for each pair of values, of
    which there are few; matrix products map them to pairs of configs and back.
    """

    def __init__(
        self,
        encoding: Encoding,
        ranks: Ranks,
        values: Matrix,
        fixed: Matrix,
        typical: Matrix,
        spreads: Matrix,
    ) -> None:
        self._values = values
        self._fixed = fixed
        self._typical = typical
        self._spreads = spreads
        self._width = encoding.width
        self._hot = encoding.indicators(ranks).astype(np.float64)
        self._pairs = encoding.pairs()
        self._own_with_all = encoding.pairs_with_all(ranks)

    def __call__(self, logs: Matrix) -> tuple[float, Matrix]:
        count = len(self._values)
        hyper = Hyperparameters(logs)
        distances = self._pairs.distances(hyper.weights)
        single, single_slope = _matern(distances)
        shared, shared_slope = _matern(self._of_configs(distances))
        mean_single = self._of_configs(single) / self._width
        covariance = hyper.shared * shared + hyper.single * mean_single + self._fixed
        covariance.flat[:: count + 1] += hyper.noise + _JITTER
        stray = (logs - self._typical) / self._spreads
        # LAPACK itself, as this is called a thousand times a second and scipy's wrappers are
        # slower.
        lower, fault = dpotrf(covariance, lower=1)
        if fault:
            return 1e10, np.zeros_like(logs)
        inverse, _ = dpotrs(lower, np.eye(count), lower=1)
        weighted = inverse @ self._values
        # Dividing by the number of sizes would give their mean. With the root the model is less
        # certain, as suits one kernel for all sizes: recorded runs are searched faster.
        part = 1 / math.sqrt(self._values.shape[1])
        value = 0.5 * part * np.vdot(self._values, weighted) + np.log(np.diag(lower)).sum()
        pull = part * weighted @ weighted.T - inverse
        slopes = hyper.shared * self._of_values(pull * shared_slope)
        slopes += (hyper.single / self._width) * self._of_values(pull) * single_slope
        gradient = np.concatenate(
            (
                hyper.weights * self._pairs.by_table(slopes),
                [
                    -0.5 * hyper.shared * (pull * shared).sum(),
                    -0.5 * hyper.single * (pull * mean_single).sum(),
                    -0.5 * hyper.noise * np.trace(pull),
                ],
            )
        )
        return value + 0.5 * stray @ stray, gradient + stray / self._spreads

    def _of_configs(self, by_pair: Matrix) -> Matrix:
        """Return the sum of values' entries over the parameters, for each pair of configs."""
        summed: Matrix = by_pair[self._own_with_all] @ self._hot.T
        return summed

    def _of_values(self, by_configs: Matrix) -> Matrix:
        """Return, for each pair of values, the sum over all pairs of configs that have them."""
        by_value = by_configs @ self._hot
        summed = np.bincount(self._own_with_all.ravel(), by_value.ravel(), len(self._pairs.rows))
        return summed.astype(np.float64)


class GaussianProcess:
    """Predicts the values of a fixed set of candidates from observed configs.

    Observations are added one at a time; earlier results for the candidates are kept, so that
    another observation costs little.

    Args:
        candidates: their ranks, a row each.
        basis: known functions at the candidates, a column each, with unknown coefficients.
    """

    def __init__(
        self, encoding: Encoding, hyper: Hyperparameters, candidates: Ranks, basis: Matrix
    ) -> None:
        self._encoding = encoding
        self._hyper = hyper
        self._candidates = candidates
        self._indicators = np.ascontiguousarray(encoding.indicators(candidates).T)
        self._basis = basis.astype(np.float32)
        pairs = encoding.pairs()
        distances = pairs.distances(hyper.weights)
        self._distances = pairs.table_of(distances)
        self._single = pairs.table_of((hyper.single / encoding.width) * _matern(distances)[0])
        self._seen_ranks = np.zeros((0, encoding.width), dtype=np.int64)
        self._seen_basis = np.zeros((0, basis.shape[1]), dtype=np.float32)
        self._lower = np.zeros((0, 0))
        # One row an observation, with room for more; only the first rows are in use.
        self._rows: Matrix32 = np.zeros((64, len(candidates)), dtype=np.float32)
        variance = np.float32(hyper.shared + hyper.single)
        self._prior: Matrix32 = variance + (self._basis**2).sum(axis=1)
        self._explained = np.zeros(len(candidates), dtype=np.float32)

    def keep(self, numbers: Sequence[int]) -> None:
        """Keep only some of the candidates, renumbered in the order given."""
        chosen = [*numbers]
        self._candidates = self._candidates[chosen]
        self._indicators = np.ascontiguousarray(self._indicators[:, chosen])
        self._basis = self._basis[chosen]
        self._rows = self._rows[: max(self.count, 64), chosen]
        self._prior = self._prior[chosen]
        self._explained = self._explained[chosen]

    @property
    def count(self) -> int:
        """The number of observed configs."""
        return len(self._seen_ranks)

    def observe(self, ranks: Ranks, basis: Matrix) -> None:
        """Add configs; their values are given to `predict`."""
        shares = basis.astype(np.float32)
        old, new = self.count, self.count + len(ranks)
        self._reserve(new)
        between = self._covariance(self._seen_ranks, self._seen_basis, ranks, shares)
        left = solve_triangular(self._lower, between, lower=True) if old else between
        within = self._covariance(ranks, shares, ranks, shares) - left.T @ left
        within[np.diag_indices(new - old)] += self._hyper.noise + _JITTER
        corner = cholesky(within, lower=True)
        lower = np.zeros((new, new))
        lower[:old, :old], lower[old:, :old], lower[old:, old:] = self._lower, left.T, corner
        rows = self._to_candidates(ranks, shares)
        if old:
            rows -= left.T.astype(np.float32) @ self._rows[:old]
        rows = solve_triangular(corner.astype(np.float32), rows, lower=True, overwrite_b=True)
        self._rows[old:new] = rows
        self._explained += (rows**2).sum(axis=0)
        self._lower = lower
        self._seen_ranks = np.concatenate((self._seen_ranks, ranks))
        self._seen_basis = np.concatenate((self._seen_basis, shares))

    def predict(self, values: Matrix) -> tuple[Matrix32, Matrix32]:
        """Return the mean, by size and candidate, and the standard deviation of each candidate.

        Args:
            values: of the observed configs in the order they were added, by config and size.
                An unknown value (nan) is replaced by its mean given the configs before it, which
                changes no prediction.
        """
        if not self.count:
            mean = np.zeros((values.shape[1], len(self._explained)), dtype=np.float32)
            return mean, np.sqrt(self._prior)
        weights = self._whitened(values).T.astype(np.float32)
        variance = np.maximum(self._prior - self._explained, 1e-6)
        return weights @ self._rows[: self.count], np.sqrt(variance)

    def covariance_among(self, numbers: Sequence[int]) -> Matrix:
        """Return the posterior covariance of some candidates."""
        ranks, basis = self._candidates[[*numbers]], self._basis[[*numbers]]
        rows = self._rows[: self.count, [*numbers]].astype(np.float64)
        covariance: Matrix = self._covariance(ranks, basis, ranks, basis) - rows.T @ rows
        return covariance

    def _whitened(self, values: Matrix) -> Matrix:
        """Solve for the weights, in groups of configs with the same known sizes."""
        known = ~np.isnan(values)
        gaps = np.flatnonzero(~known.all(axis=1)).tolist()
        solved = np.zeros_like(values)
        start = 0
        for gap in (*gaps, len(values)):
            run = slice(start, gap)
            if gap > start:
                rest = values[run] - self._lower[run, :start] @ solved[:start]
                solved[run] = solve_triangular(self._lower[run, run], rest, lower=True)
            if gap < len(values):
                rest = values[gap] - self._lower[gap, :gap] @ solved[:gap]
                solved[gap] = np.where(known[gap], rest / self._lower[gap, gap], 0)
            start = gap + 1
        return solved

    def _reserve(self, count: int) -> None:
        if count > len(self._rows):
            grown = np.zeros((max(count, 2 * self.count), self._rows.shape[1]), dtype=np.float32)
            grown[: self.count] = self._rows[: self.count]
            self._rows = grown

    def _covariance(self, ranks: Ranks, basis: Matrix32, others: Ranks, more: Matrix32) -> Matrix:
        hot = self._encoding.indicators(ranks).astype(np.float64)
        other_hot = self._encoding.indicators(others).T.astype(np.float64)
        covariance: Matrix = self._hyper.shared * _matern(hot @ (self._distances @ other_hot))[0]
        covariance += hot @ (self._single @ other_hot)
        covariance += (basis @ more.T).astype(np.float64)
        return covariance

    def _to_candidates(self, ranks: Ranks, basis: Matrix32) -> Matrix32:
        """Return `_covariance` with all candidates, by products that read each value once."""
        hot = self._encoding.indicators(ranks).astype(np.float64)
        distances = (hot @ self._distances).astype(np.float32)
        shared: Matrix32 = np.maximum(distances @ self._indicators, 0)
        np.sqrt(5 * shared, out=shared)
        rows: Matrix32 = np.exp(-shared)
        rows *= np.float32(self._hyper.shared) * (1 + shared + shared * shared / 3)
        rows += (hot @ self._single).astype(np.float32) @ self._indicators
        rows += basis @ self._basis.T
        return rows


def _matern(squares: Matrix) -> tuple[Matrix, Matrix]:
    """Return the Matérn 5/2 kernel of squared distances, and its derivative."""
    distance = np.sqrt(5 * squares)
    decay = np.exp(-distance)
    return (1 + distance + distance**2 / 3) * decay, (-5 / 6) * (1 + distance) * decay
