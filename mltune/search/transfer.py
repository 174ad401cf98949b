"""Expectations from records of other devices, sizes or kernels about the configs of a space.

A forest is fitted to each record, on the parameters that it shares by name with the space. The
search takes each forest as a function with an unknown coefficient, so a misleading record soon has
no weight.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np

from mltune.errors import UsageError
from mltune.machine import usable_cores
from mltune.measurement.recording import Point, Recording
from mltune.search.encoding import Matrix
from mltune.search.expectation import Scale
from mltune.space.config import Config
from mltune.space.config_space import FlatSpace
from mltune.space.parameter import Parameter
from mltune.space.union import FAMILY

_SHARE_DEVIATION = 0.5
"""Of a record's coefficient, whose mean is 1 / the number of records."""
_LEVEL_DEVIATION = 1.0
_FEWEST_VALUES = 10
_MOST_POINTS = 20_000
"""The most points of a record; of a longer one a sample is used."""
_TREES = 150
_MOST_CORES = 8


class Transfer:
    """Expectations from records, in units of a `Scale`.

    Args:
        space: to search.
        recordings: that have parameters of the same names.
        seed: decides the forests.

    Attributes:
        reach: the largest expectation above the best value, in logs of seconds.
        spread: of the values up to there.
        doubt: the share of the variance that is unexplained at first.

    Raises:
        UsageError: when a recording shares no parameter that varies, or has too few times.
    """

    doubt = 0.3

    def __init__(self, space: FlatSpace, recordings: Sequence[Recording], seed: int) -> None:
        self._experts = [_Prior(space.parameters, one, seed) for one in recordings]
        # Needed often, and slow to compute.
        self._known: dict[Config, tuple[float, ...]] = {}
        self.reach = float(np.mean([expert.reach for expert in self._experts]))
        self.spread = float(np.mean([expert.scale.spread for expert in self._experts]))

    def prepare(self) -> None:
        """Grow the forests, which takes seconds; else the first call does it."""
        for expert in self._experts:
            expert.grow()

    def views(self, configs: Sequence[Config]) -> Matrix:
        """Return each record's prediction for some configs, a column each."""
        new = list(dict.fromkeys(config for config in configs if config not in self._known))
        if new:
            columns = [expert.predict(new).tolist() for expert in self._experts]
            self._known |= zip(new, zip(*columns, strict=True), strict=True)
        rows = [self._known[config] for config in configs]
        return np.array(rows, dtype=np.float64).reshape(-1, len(self._experts))

    @staticmethod
    def expected(views: Matrix) -> Matrix:
        """Return the expectations if every record has the same weight."""
        mean: Matrix = views.mean(axis=1)
        return mean

    @staticmethod
    def basis(views: Matrix) -> Matrix:
        """Return the functions with unknown coefficients: a level, and each record."""
        level = np.full((len(views), 1), _LEVEL_DEVIATION)
        return np.concatenate((level, _SHARE_DEVIATION * views), axis=1)


def _points_for(parameters: Sequence[Parameter], recording: Recording) -> tuple[Point, ...]:
    """Return the points of a record that suit a space: those of its family, if it is known.

    A run of several spaces of a family has points with different parameters. Those count that have
    as many of the space's varying parameters as any.
    """
    own = {value for one in parameters if one.name == FAMILY for value in one.values}
    points = [
        point
        for point in recording.points
        if not own or FAMILY not in point.config or point.config[FAMILY] in own
    ]
    varying = {one.name for one in parameters if len(one.values) > 1}
    having = [frozenset(varying.intersection(point.config)) for point in points]
    most = max(dict.fromkeys(having), key=len, default=frozenset())
    return tuple(point for point, names in zip(points, having, strict=True) if most <= names)


def usable(
    parameters: Sequence[Parameter], recording: Recording
) -> tuple[tuple[Point, ...], list[Parameter]]:
    """Return a record's points for a space, and the varying parameters that they have.

    Raises:
        UsageError: when there is no such parameter, or there are too few times.
    """
    points = _points_for(parameters, recording)
    known = set(points[0].config) if points else set()
    shared = [one for one in parameters if one.name in known and len(one.values) > 1]
    if not shared:
        raise UsageError(
            f"{recording.where}: shares no parameter with the space "
            f"(it varies: {', '.join(one.name for one in parameters)})"
        )
    count = sum(point.seconds is not None for point in points)
    if count < _FEWEST_VALUES:
        raise UsageError(f"{recording.where}: has {count} times, a prior needs {_FEWEST_VALUES}")
    return points, shared


class _Prior:
    """One record's forest."""

    def __init__(self, parameters: Sequence[Parameter], recording: Recording, seed: int) -> None:
        points, self._shared = usable(parameters, recording)
        if len(points) > _MOST_POINTS:
            chosen = np.random.default_rng(seed).choice(len(points), _MOST_POINTS, replace=False)
            points = tuple(points[number] for number in np.sort(chosen))
        answers = np.array(
            [math.inf if one.seconds is None else math.log(one.seconds) for one in points]
        )
        self.scale = Scale.of(answers)
        self.reach = self.scale.cap - self.scale.best
        self._points, self._answers, self._seed = points, answers, seed
        self._growing = Lock()

    def grow(self) -> None:
        """Grow the forest, unless that is done."""
        with self._growing:
            _ = self._forest

    @cached_property
    def _forest(self) -> Any:
        """Return the forest, grown at the first call, when a search may have begun to measure."""
        # takes as long to load as opening a device
        from sklearn.ensemble import ExtraTreesRegressor

        # Leaves of two, and a part of the parameters per split: a forest that fits each single
        # time also fits its noise, and was worse for another GPU.
        forest = ExtraTreesRegressor(
            _TREES,
            min_samples_leaf=2,
            max_features=0.7,
            random_state=self._seed,
            n_jobs=min(_MOST_CORES, len(usable_cores())),
        )
        configs = [one.config for one in self._points]
        forest.fit(self._features(configs), self.scale.units(self._answers))
        # Several threads would add the trees' values in varying order.
        return forest.set_params(n_jobs=1)

    def predict(self, configs: Sequence[Config]) -> Matrix:
        """Return the expected values of some configs, at least one."""
        self.grow()
        values: Matrix = self._forest.predict(self._features(configs))
        return values

    def _features(self, configs: Sequence[Config]) -> Matrix:
        """Return numbers as they are, words as their index in the space; -1 if unknown."""
        rows = np.empty((len(configs), len(self._shared)))
        for column, one in enumerate(self._shared):
            places = {value: place for place, value in enumerate(one.values)}
            for row, config in enumerate(configs):
                value = config[one.name]
                number = isinstance(value, int) and one.is_number
                rows[row, column] = value if number else places.get(value, -1)
        return rows
