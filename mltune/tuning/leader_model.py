"""How long kernels take on sizes where they were not timed, and how sure that is.

Trees learn first what an estimate from the roofline leaves of the measured times: they know of a
kernel what they know of those like it. Then each kernel gets a time formula, as `distil` makes
them, of its own times; where it has none, those that the trees expect count a little, else a
formula of few times would be wrong anywhere else. Trees on what the formulas leave come last, and
several of them say how sure that is.

On the shipped runs of hgemm, sgemm NT and dgemm, a fifth of the kernel and size pairs timed, the
first choice of trees alone had 0.963 of the best known speed on held-out sizes, of formulas of the
measured times 0.936, of this 0.978.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mltune.cost_model.bagged import Bagging
from mltune.cost_model.estimate import Estimate
from mltune.cost_model.features import Encoder
from mltune.cost_model.train import distinct_columns
from mltune.device_info import DeviceInfo
from mltune.distil.fit import Settings
from mltune.distil.formulas import formula_of
from mltune.distil.table import EXPECTED_WEIGHT
from mltune.distil.vectors import whole_vectors
from mltune.kernel.name import global_split_of, macro_tile_of
from mltune.problem import Problem
from mltune.space import Config

Array = NDArray[np.float64]

_FIRST = Bagging(forests=1, trees=120)
_LAST = Bagging(forests=1, trees=60)
_DRAWS = 3

_FILLED = 100
"""About so many sizes on which an expected time counts."""

_LEAST_DOUBT = 0.05
"""Of the log of a time: trees that were taught by the same times agree too well."""

_FEMTO = 1e-15


@dataclass(frozen=True, slots=True, eq=False)
class Expected:
    """Logs of seconds by size and kernel, and their standard deviations."""

    logs: Array
    doubt: Array


class LeaderModel:
    """Learns from what was measured of some kernels on some sizes.

    Args:
        names: the kernels' names, which tell their tiles.
        configs: theirs.
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
        contraction = problems[0].contraction
        self._names = tuple(names)
        self._settings = Settings(
            compute_units=device.compute_units,
            swapped=contraction.swaps_operands,
            multiples=whole_vectors(contraction),
        )
        self._sizes = np.array([(p.m, p.n, p.k, p.batch) for p in problems], dtype=np.float64)
        encoder = Encoder.of(configs)
        self._columns = encoder.names(device)
        self._rows = encoder.encode_all([(each, configs) for each in problems], device)
        numbers = np.tile(np.arange(len(names), dtype=np.float64), len(problems))
        self._features = np.column_stack((self._rows[:, distinct_columns(self._rows)], numbers))

    def expect(self, seconds: Array) -> Expected:
        """Return what is expected of all kernels on all sizes.

        Args:
            seconds: by size and kernel; nan where nothing is known.
        """
        known = np.isfinite(seconds)
        logs = np.log(seconds, out=np.full(seconds.shape, np.nan), where=known)
        estimated = self._estimate(seconds, known)
        expected = estimated + self._trees(_FIRST, logs - estimated, known)[0]
        chance = np.random.default_rng(0)
        found = []
        for number in range(_DRAWS):
            # As if some times had been measured often, and others not at all.
            emphasis = chance.exponential(size=known.shape)
            by_formula = self._formulas(logs, expected, known, emphasis)
            found.append(by_formula + self._trees(_LAST, logs - by_formula, known, number)[0])
        return Expected(np.mean(found, axis=0), np.std(found, axis=0) + _LEAST_DOUBT)

    def _estimate(self, seconds: Array, known: NDArray[np.bool_]) -> Array:
        told = known.ravel()
        estimate = Estimate.fit(self._columns, self._rows[told], seconds.ravel()[told])
        return estimate.log_seconds(self._columns, self._rows).reshape(seconds.shape)

    def _trees(
        self, bagging: Bagging, rest: Array, known: NDArray[np.bool_], seed: int = 0
    ) -> Array:
        told = known.ravel()
        answers = bagging.predict(self._features[told], rest.ravel()[told], self._features, seed)
        return answers.reshape(-1, *rest.shape)

    def _formulas(
        self, logs: Array, expected: Array, known: NDArray[np.bool_], emphasis: Array
    ) -> Array:
        """What formulas say; a kernel whose name does not tell its tile keeps the expectation."""
        seconds = np.exp(np.where(known, logs, expected))
        weights = np.where(known, emphasis, EXPECTED_WEIGHT)
        some = np.zeros((len(known), 1), dtype=np.bool_)
        some[:: max(1, len(known) // _FILLED)] = True
        used = known | some
        extents = [tuple(map(int, size)) for size in self._sizes]
        found = expected.copy()
        for column, name in enumerate(self._names):
            tile = macro_tile_of(name)
            if tile is None:
                continue
            rows, columns, depth = tile
            if self._settings.swapped:
                rows, columns = columns, rows
            formula = formula_of(
                self._sizes[used[:, column]],
                seconds[used[:, column], column],
                weights[used[:, column], column],
                (rows, columns, depth),
                self._settings,
                global_split_of(name),
            )
            times = [max(formula.femtoseconds(*size), 1) * _FEMTO for size in extents]
            found[:, column] = np.log(times)
        return found
