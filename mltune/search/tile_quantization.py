"""Work beyond the matrices: what whole tiles compute more than a size asks for.

A config's time on a size is, to a good part, that of the tiles which cover C: two tiles of 64 rows
for 65 rows take twice as long as one. Of 4,000 configs on 12 sizes on two CPU cores, 0.9 of the
log of that ratio was seen in the log of a time, and that was 44 % of all by which configs do
better on one size than on another. So a model need not find it out for each size anew: how much
of it is seen is learned from all sizes together, and the models tell what is left.
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
_DOUBT = 1.0  # as much as observations whose squares add up to this


class TileQuantization:
    """Logs of the work of whole tiles over the work of the size, by config and size.

    Args:
        space: derives the sides of a macro tile, or says nothing of them.
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
        """Whether the space says how large a tile is, and there are sizes to tell apart."""
        derived = self._space.derived(np.zeros((0, len(self._space.parameters)), dtype=np.int64))
        return len(self._extents) > 1 and all(side in derived for side in _SIDES)

    def logs(self, configs: Sequence[Config]) -> Matrix:
        """Return logs of the ratios: by config and size, of the area of C and of the sums."""
        new = [config for config in configs if config not in self._known]
        if new:
            self._known |= dict(zip(new, self.compute(new), strict=True))
        found = [self._known[config] for config in configs]
        return np.array(found).reshape(len(found), len(self._extents), 2)

    def compute(self, configs: Sequence[Config]) -> Matrix:
        """Return the same, of many configs, and do not keep it."""
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
        """Find how much of each log is seen in the values, logs of times; a size is nan or inf.

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
    """The log of how much more whole tiles cover, by tile and extent."""
    sides = tiles[:, None]
    padding: Matrix = np.log(np.ceil(extents / sides) * sides / extents)
    return padding


def _alone(table: Matrix, answered: NDArray[np.bool_]) -> Matrix:
    """What the effects of rows and columns leave of a table; a few turns are enough."""
    rows, columns = (np.maximum(answered.sum(axis=axis), 1) for axis in (1, 0))
    for _ in range(5):
        table = table - np.where(answered, (table.sum(axis=1) / rows)[:, None], 0.0)
        table = table - np.where(answered, table.sum(axis=0) / columns, 0.0)
    return table
