"""Tile quantization: the work of whole tiles beyond the edges of a size.

A config's time on a size depends on the number of tiles that cover C: two tiles of 64 rows for 65
rows take twice as long as one. Of 4,000 configs on 12 sizes on two CPU cores, 0.9 of the log of
this ratio was visible in the log of a time, and it explained 44 % of the interaction between
configs and sizes. So a model need not learn it for each size: its coefficient is learned from all
sizes together, and the models predict the rest.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mltune.kernel.passes import extents
from mltune.problem import Problem
from mltune.search.encoding import Matrix
from mltune.space.config import Config
from mltune.space.config_space import FlatSpace
from mltune.space.ranks import ranks_of

_SIDES = ("macro_tile_0", "macro_tile_1")
_DEPTH = "depth_u"
_EXPECTED = 0.5
_DOUBT = 1.0  # counts as much as observations whose squares have this sum


class TileQuantization:
    """Logs of the work of whole tiles / the work of the size, by config and size.

    Args:
        space: derives the sides of a macro tile, or has no such values.
        problems: one of each size.
    """

    def __init__(self, space: FlatSpace, problems: Sequence[Problem]) -> None:
        self._space = space
        reaches = [extents(problem.canonical(), compute_units=1) for problem in problems]
        sides = [(reach["i"], reach["j"], reach["l"]) for reach in reaches]
        self._extents = np.array(sides, dtype=np.float64)
        self._known: dict[Config, Matrix] = {}

    @property
    def tells(self) -> bool:
        """Whether the space derives the size of a tile, and there are several sizes."""
        derived = self._space.derived(np.zeros((0, len(self._space.parameters)), dtype=np.int64))
        return len(self._extents) > 1 and all(side in derived for side in _SIDES)

    def logs(self, configs: Sequence[Config]) -> Matrix:
        """Return the logs of the ratios for the area of C and for the sums, by config and size."""
        new = [config for config in configs if config not in self._known]
        if new:
            self._known |= dict(zip(new, self.compute(new), strict=True))
        found = [self._known[config] for config in configs]
        return np.array(found).reshape(len(found), len(self._extents), 2)

    def compute(self, configs: Sequence[Config]) -> Matrix:
        """Return the same for many configs, without caching."""
        parameters = self._space.parameters
        ranks = ranks_of(parameters, configs)
        tiles = self._space.derived(ranks)
        depth = next((one for one in parameters if one.name == _DEPTH), None)
        rows, columns, terms = self._extents.T
        area = _padding(rows, tiles[_SIDES[0]]) + _padding(columns, tiles[_SIDES[1]])
        steps = np.zeros_like(area)
        if depth is not None:
            column = ranks[:, parameters.index(depth)]
            steps = _padding(terms, np.array(depth.values, dtype=np.float64)[column])
        return np.stack((area, steps), axis=-1)

    def shares(self, configs: Sequence[Config], values: Matrix) -> Matrix:
        """Find the coefficient of each log in the values, logs of times; a size is nan or inf.

        By least squares, with an effect of its own for each config and each size.
        """
        answered = np.isfinite(values)
        useful = answered.sum(axis=1) > 1
        logs, values, answered = self.logs(configs)[useful], values[useful], answered[useful]
        columns = [_alone(np.where(answered, values, 0.0), answered)]
        columns += [
            _alone(np.where(answered, one, 0.0), answered) for one in np.moveaxis(logs, 2, 0)
        ]
        seen, *causes = (column[answered] for column in columns)
        matrix = np.array(causes)
        expected = np.full(len(causes), _EXPECTED)
        found = np.linalg.solve(
            matrix @ matrix.T + _DOUBT * np.eye(len(causes)), matrix @ seen + _DOUBT * expected
        )
        return np.clip(found, 0.0, 1.0)


def _padding(extents: NDArray[np.float64], tiles: NDArray[np.float64]) -> Matrix:
    """Return the log of tiles' area / extent, by tile and extent."""
    sides = tiles[:, None]
    padding: Matrix = np.log(np.ceil(extents / sides) * sides / extents)
    return padding


def _alone(table: Matrix, answered: NDArray[np.bool_]) -> Matrix:
    """Subtract the effects of rows and columns from a table; a few iterations are enough."""
    rows, columns = (np.maximum(answered.sum(axis=axis), 1) for axis in (1, 0))
    for _ in range(5):
        table = table - np.where(answered, (table.sum(axis=1) / rows)[:, None], 0.0)
        table = table - np.where(answered, table.sum(axis=0) / columns, 0.0)
    return table
