"""Predicts the times of kernels on sizes where they were not timed, with standard deviations.

First, boosted trees are fitted to the residuals of a roofline estimate; they transfer knowledge
between similar kernels. Then each kernel gets a time formula, as in `distil`, fitted to its own
times; on sizes without a time the trees' prediction counts with a small weight, because a formula
fitted to few times would be wrong elsewhere. Last, several sets of trees are fitted to the
residuals of the formulas, whose spread gives the standard deviations.

On shipped runs of hgemm, sgemm NT and dgemm, a fifth of the kernel and size pairs timed, the first
choice of trees alone had 0.963 of the best known speed on held-out sizes, of formulas of the
measured times 0.936, of formulas between trees 0.978.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from mltune.cost_model.bagged import boosted
from mltune.cost_model.estimate import Estimate
from mltune.cost_model.features import Encoder
from mltune.cost_model.train import distinct_columns
from mltune.device_info import DeviceInfo
from mltune.distil.fit import Settings
from mltune.distil.formula_times import log_seconds
from mltune.distil.formulas import formula_of, of_one_kind
from mltune.distil.table import EXPECTED_WEIGHT
from mltune.kernel.name import blocking_of
from mltune.problem import Problem
from mltune.selector import TimeFormula
from mltune.space import Config

Array = NDArray[np.float64]

_FIRST_TREES, _LAST_TREES = 120, 60
_DRAWS = 3
"""Sets of formulas and last trees that are fitted to times drawn anew."""

_FILLED = 100
"""The approximate number of sizes on which a predicted time counts in a formula."""

_LEAST_DOUBT = 0.05
"""The least standard deviation of the log of a time, as models fitted to the same times agree too
well.
"""

Predict = Callable[[Array], Array]


@dataclass(frozen=True, slots=True, eq=False)
class Expected:
    """Logs of seconds by size and kernel, and their standard deviations."""

    logs: Array
    doubt: Array


class LeaderModel:
    """A model to be fitted to the times of some kernels on some sizes.

    Args:
        names: of the kernels, which contain their tiles.
        configs: of the kernels.
        problems: of one type, a size each.
        device: that they were measured on.
    """

    def __init__(
        self,
        names: Sequence[str],
        configs: Sequence[Config],
        problems: Sequence[Problem],
        device: DeviceInfo,
    ) -> None:
        self._settings = Settings.of(problems[0].contraction, compute_units=device.compute_units)
        self._blockings = [blocking_of(name) for name in names]
        self._sizes = np.array([(p.m, p.n, p.k, p.batch) for p in problems], dtype=np.float64)
        encoder = Encoder.of(configs)
        self._columns = encoder.names(device)
        rows = encoder.encode_all([(each, configs) for each in problems], device)
        numbers = np.tile(np.arange(len(names), dtype=np.float64), len(problems))
        features = np.column_stack((rows[:, distinct_columns(rows)], numbers))
        self._rows = rows.reshape(len(problems), len(names), -1)
        self._features = features.reshape(len(problems), len(names), -1)

    def learn(self, seconds: Array, *, is_quick: bool = False) -> LearnedTimes:
        """Return an object that predicts.

        Args:
            seconds: by size and kernel; nan if unknown.
            is_quick: whether to learn less exactly in a fourth of the time.
        """
        known = np.isfinite(seconds)
        logs = np.log(seconds, out=np.full(seconds.shape, np.nan), where=known)
        estimate = Estimate.fit(self._columns, self._rows[known], seconds[known])
        rest = logs[known] - estimate.log_seconds(self._columns, self._rows[known])
        grown = partial(boosted, self._features[known], is_quick=is_quick)
        trees = grown(rest, trees=_FIRST_TREES)
        learned = LearnedTimes(
            self._sizes, self._columns, self._rows, self._features, estimate, trees
        )
        # Far from a kernel's measured times, predicted times keep its formula right.
        some = np.zeros(len(seconds), dtype=np.bool_)
        some[:: max(1, len(seconds) // _FILLED)] = True
        shown = np.full(seconds.shape, np.nan)
        shown[some] = np.exp(learned.at_first(np.flatnonzero(some)))
        shown = np.where(known, seconds, shown)
        first = np.full(seconds.shape, np.nan)
        first[known] = logs[known] - rest + trees(self._features[known])
        chance = np.random.default_rng(0)
        for number in range(_DRAWS):
            # As if some times had been measured several times, and others not at all (bootstrap).
            emphasis = np.where(known, chance.exponential(size=known.shape), EXPECTED_WEIGHT)
            learned.formulas.append(self._formulas(seconds, shown, emphasis))
            expected = first.copy()
            for column, formula in enumerate(learned.formulas[-1]):
                told = known[:, column]
                if formula is not None:
                    expected[told, column] = _logs(formula, self._sizes[told])
            rest = logs[known] - expected[known]
            learned.trees.append(grown(rest, trees=_LAST_TREES, seed=number, drawn=True))
        return learned

    def _formulas(self, seconds: Array, shown: Array, weights: Array) -> list[TimeFormula | None]:
        """Return a formula for each kernel; None if its name does not contain its tile.

        Args:
            seconds: by size and kernel; nan if unknown.
            shown: the same with some predicted times.
            weights: of these.
        """
        known = [
            (c, blocking) for c, blocking in enumerate(self._blockings) if blocking is not None
        ]

        def fit(number: int, is_narrowed: bool) -> TimeFormula:
            column, blocking = known[number]
            used = np.isfinite(shown[:, column])
            return formula_of(
                self._sizes[used],
                shown[used, column],
                weights[used, column],
                blocking,
                self._settings,
                is_narrowed=is_narrowed,
            )

        found: list[TimeFormula | None] = [None] * len(self._blockings)
        formulas = of_one_kind(fit, self._sizes, seconds[:, [column for column, _ in known]])
        for (column, _), formula in zip(known, formulas, strict=True):
            found[column] = formula
        return found


@dataclass(frozen=True, slots=True, eq=False)
class LearnedTimes:
    """The predictions for the kernels of a `LeaderModel` on its sizes."""

    sizes: Array
    columns: tuple[str, ...]
    rows: Array
    features: Array
    estimate: Estimate
    first_trees: Predict
    formulas: list[list[TimeFormula | None]] = field(default_factory=list)
    trees: list[Predict] = field(default_factory=list)

    def expect(self, places: Sequence[int] | NDArray[np.intp]) -> Expected:
        """Return the predicted times of all kernels on some of the sizes."""
        where = np.asarray(places, dtype=np.intp)
        found = [
            self.by_formulas(where, number) + self._by(trees, where)
            for number, trees in enumerate(self.trees)
        ]
        return Expected(np.mean(found, axis=0), np.std(found, axis=0) + _LEAST_DOUBT)

    def at_first(self, places: NDArray[np.intp]) -> Array:
        """Return the logs of seconds predicted by the estimate and the first trees."""
        rows = self.rows[places]
        estimated = self.estimate.log_seconds(self.columns, rows.reshape(-1, rows.shape[2]))
        return estimated.reshape(rows.shape[:2]) + self._by(self.first_trees, places)

    def by_formulas(self, places: NDArray[np.intp], number: int) -> Array:
        """Return the same by the formulas; a kernel without one keeps the first prediction."""
        formulas = self.formulas[number]
        found = np.zeros((len(places), len(formulas)))
        if None in formulas:
            found = self.at_first(places)
        for column, formula in enumerate(formulas):
            if formula is not None:
                found[:, column] = _logs(formula, self.sizes[places])
        return found

    def _by(self, predict: Predict, places: NDArray[np.intp]) -> Array:
        features = self.features[places]
        return predict(features.reshape(-1, features.shape[2])).reshape(features.shape[:2])


def _logs(formula: TimeFormula, sizes: Array) -> Array:
    return log_seconds((formula,), sizes)[:, 0]
