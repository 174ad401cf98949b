"""The best value of every size so far, and the library's gain by a better one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from mltune.search.encoding import Matrix


class Incumbents:
    """The best time of every size, as its log.

    A library runs the best kernel of each size. If the calls were counted, a size's share is the
    part of its calls in the library's time. If all counts are 1, the numbers of calls are unknown:
    half of each share follows the best times, as if all sizes were called equally often, and the
    other half is equal for all sizes, so that small sizes count too.

    Args:
        counts: how often each size is called.
    """

    def __init__(self, counts: Sequence[int]) -> None:
        self._counts = np.array(counts, dtype=np.float64)
        self.is_counted = any(count != 1 for count in counts)
        """Whether the numbers of calls are known."""
        self.count = len(counts)
        """The number of sizes."""
        self._best = np.full(len(counts), math.inf)

    def add(self, values: Mapping[int, float]) -> float:
        """Note the logs of a config's times by size; return the share of time that it saves.

        The first time on a size saves the size's whole share.
        """
        before = self._best.copy()
        for size, value in values.items():
            self._best[size] = min(self._best[size], value)
        known = np.isfinite(self._best)
        saved = -np.expm1(self._best[known] - before[known])
        # Shares of the time before; a size without one counts with its new time.
        shares = self.shares_at(np.where(np.isfinite(before), before, self._best))[known]
        return float(shares @ saved)

    @property
    def best(self) -> Matrix:
        """The log of the best time of every size; infinite if there is none."""
        return self._best.copy()

    @property
    def shares(self) -> Matrix:
        """The share of each size by the best times; 0 for sizes without one."""
        return self.shares_at(self._best)

    def shares_at(self, best: Matrix) -> Matrix:
        """Return the same for other logs of best times; infinite if there is none."""
        known = np.isfinite(best)
        if not known.any():
            return np.full(len(best), 1 / len(best))
        times = np.zeros(len(best))
        times[known] = self._counts[known] * np.exp(best[known] - best[known].max())
        shares: Matrix = times / times.sum()
        return shares if self.is_counted else (shares + known / known.sum()) / 2

    def best_first(self, answers: Matrix) -> list[int]:
        """Return the numbers of rows of answers, the best ones first.

        The sizes take turns in naming their best row, their second best, and so on. How often a
        size has its turn follows its share, by the method of D'Hondt for seats of a parliament.

        Args:
            answers: logs of times, by config and size; nan or infinite where there is none.
        """
        table = np.where(np.isnan(answers), math.inf, answers)
        order = np.argsort(table, axis=0, kind="stable")
        claims = self.shares_at(table.min(axis=0)) / np.arange(1, len(table) + 1)[:, None]
        turns = np.argsort(-claims, axis=None, kind="stable")
        return list(dict.fromkeys(order.ravel()[turns].tolist()))
