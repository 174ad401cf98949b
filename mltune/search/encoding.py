"""Configs as rows of ranks, and the distances between values of a parameter."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mltune.space.config import Config
from mltune.space.config_space import FlatSpace
from mltune.space.parameter import Parameter
from mltune.space.ranks import Ranks, ranks_of

Matrix = NDArray[np.float64]
Matrix32 = NDArray[np.float32]

_LOOKED_AT = 500
"""Number of configs sampled for the range of derived values."""


@dataclass(frozen=True, slots=True)
class DistanceTable:
    """One of the distances between the values of a parameter.

    Attributes:
        column: of the parameter or derived value, in rows of ranks.
        squares: squared distances by rank and rank.
    """

    column: int
    squares: Matrix


@dataclass(frozen=True, slots=True)
class ValuePairs:
    """All pairs of two values of one parameter, and the tables' entries for them.

    Attributes:
        rows: by pair, the first value's number among all values.
        columns: the second one's.
        pair: by entry of a table, the pair.
        table: by entry, the number of the table.
        squares: by entry, the squared distance.
    """

    rows: Ranks
    columns: Ranks
    pair: Ranks
    table: Ranks
    squares: Matrix

    def distances(self, weights: Matrix) -> Matrix:
        """Return the squared distance of each pair, with a weight for each table."""
        return np.bincount(self.pair, self.squares * weights[self.table]).astype(np.float64)

    def by_table(self, slopes: Matrix) -> Matrix:
        """Return how far the weight of each table changes what has these slopes by distance."""
        return np.bincount(self.table, self.squares * slopes[self.pair]).astype(np.float64)

    def table_of(self, by_pair: Matrix) -> Matrix:
        """Return a table of all values by all values; 0 for two that are no pair."""
        total = int(self.rows[-1]) + 1
        table = np.zeros((total, total))
        table[self.rows, self.columns] = by_pair
        return table


class Encoding:
    """Writes configs as rows of ranks; parameters with a single value are left out.

    A number has two tables: steps along its values, from 0 to 1, and whether it differs at all.
    With the second a model can learn that one block size is special and its neighbours are not. A
    word has only the second.

    Values that a space derives from its parameters, such as the size of a tile, are further
    columns, as the space's author considers them important. Their logs are rounded to half octaves
    and scaled to steps from 0 to 1.
    """

    def __init__(self, space: FlatSpace) -> None:
        self._space = space
        counts = [len(parameter.values) for parameter in space.parameters]
        self._open = [column for column, count in enumerate(counts) if count > 1]
        self._levels = _levels(space)
        spans = [highest - lowest for lowest, highest in self._levels.values()]
        self.counts = (*(counts[column] for column in self._open), *(1 + span for span in spans))
        self._starts = np.concatenate(([0], np.cumsum(self.counts)[:-1])).astype(np.int64)
        self.tables = (
            *(
                table
                for column, slot in enumerate(self._open)
                for table in _tables(column, space.parameters[slot])
            ),
            *(_along(len(self._open) + number, 1 + span) for number, span in enumerate(spans)),
        )

    @property
    def width(self) -> int:
        """The number of columns: parameters that are not fixed, and derived values."""
        return len(self.counts)

    def ranks(self, configs: Iterable[Config]) -> Ranks:
        """Return a row for each config."""
        return self.rows(ranks_of(self._space.parameters, configs))

    def rows(self, points: Ranks) -> Ranks:
        """Return a row for each point, which is a row of ranks of all parameters."""
        derived = self._space.derived(points)
        levels = [
            np.clip(_level(derived[name]), lowest, highest) - lowest
            for name, (lowest, highest) in self._levels.items()
        ]
        return np.column_stack((points[:, self._open], *levels))

    def indicators(self, ranks: Ranks) -> Matrix32:
        """Return, for each row, a 1 for each value that it has among all values."""
        # Laid out value by value, the order in which products with all candidates read it.
        hot = np.zeros((sum(self.counts), len(ranks)), dtype=np.float32)
        hot[(self._starts + ranks).T, np.arange(len(ranks))] = 1
        return hot.T

    def pairs_with_all(self, ranks: Ranks) -> Ranks:
        """Return, for each row and each of all values, the pair of the row's own value with it."""
        counts = np.array(self.counts)
        ends = np.cumsum(counts**2)
        own = ends - counts**2 + ranks * counts
        column = np.repeat(np.arange(self.width), counts)
        pairs: Ranks = own[:, column] + np.arange(len(column)) - self._starts[column]
        return pairs

    def pairs(self) -> ValuePairs:
        """Return the pairs of values, with all values in one row as in `indicators`."""
        shapes = [np.indices((count, count)).reshape(2, -1) for count in self.counts]
        firsts, seconds = np.hstack(
            [shape + start for shape, start in zip(shapes, self._starts, strict=True)]
        )
        ends = np.cumsum([shape.shape[1] for shape in shapes])
        entries = [table.squares.ravel() for table in self.tables]
        return ValuePairs(
            rows=firsts,
            columns=seconds,
            pair=np.concatenate(
                [
                    np.arange(ends[table.column] - one.size, ends[table.column])
                    for table, one in zip(self.tables, entries, strict=True)
                ]
            ),
            table=np.repeat(np.arange(len(entries)), [one.size for one in entries]),
            squares=np.concatenate(entries),
        )


def _levels(space: FlatSpace) -> dict[str, tuple[int, int]]:
    """The lowest and highest level of each derived value that varies, from a sample."""
    sample = space.sample(np.random.default_rng(0), _LOOKED_AT)
    columns = space.derived(ranks_of(space.parameters, sample))
    levels = {name: _level(column) for name, column in columns.items()}
    ends = {name: (int(one.min()), int(one.max())) for name, one in levels.items()}
    return {
        name: (lowest, highest) for name, (lowest, highest) in ends.items() if lowest < highest
    }


def _level(values: Matrix) -> Ranks:
    half_octaves: Matrix = np.rint(2 * np.log2(np.maximum(values, 1)))
    return half_octaves.astype(np.int64)


def _tables(column: int, parameter: Parameter) -> list[DistanceTable]:
    count = len(parameter.values)
    differs = DistanceTable(column, 1.0 - np.eye(count))
    if not parameter.is_number:
        return [differs]
    along = _along(column, count)
    return [along, differs] if count > 2 else [along]


def _along(column: int, count: int) -> DistanceTable:
    steps = np.arange(count) / (count - 1)
    return DistanceTable(column, (steps[:, None] - steps) ** 2)
