"""Configs as rows of ranks, and how far apart two values of a parameter are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mltune.space.config import Config
from mltune.space.parameter import Parameter

Ranks = NDArray[np.int64]
Matrix = NDArray[np.float64]
Matrix32 = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class DistanceTable:
    """One way in which the values of a parameter are apart.

    Attributes:
        column: of the parameter, in rows of ranks.
        squares: squared distances by rank and rank.
    """

    column: int
    squares: Matrix


class Encoding:
    """Writes configs as rows of ranks; parameters with a single value are left out.

    A number has two tables: steps along its values, from 0 to 1, and whether it differs at all.
    The second lets a model see that one block size is special though its neighbours are not. A
    word has only the second.
    """

    def __init__(self, parameters: Sequence[Parameter]) -> None:
        self._open = [parameter for parameter in parameters if len(parameter.values) > 1]
        self._ranks = [
            {value: rank for rank, value in enumerate(parameter.values)}
            for parameter in self._open
        ]
        self.counts = tuple(len(parameter.values) for parameter in self._open)
        self._starts = np.concatenate(([0], np.cumsum(self.counts)[:-1])).astype(np.int64)
        self.tables = tuple(
            table for column, one in enumerate(self._open) for table in _tables(column, one)
        )

    @property
    def width(self) -> int:
        """How many parameters are not fixed."""
        return len(self.counts)

    def ranks(self, configs: Iterable[Config]) -> Ranks:
        """Return a row for each config."""
        rows = [
            [rank[config[one.name]] for one, rank in zip(self._open, self._ranks, strict=True)]
            for config in configs
        ]
        return np.array(rows, dtype=np.int64).reshape(-1, self.width)

    def indicators(self, ranks: Ranks) -> Matrix32:
        """Return, for each row, a 1 for each value that it has among all values."""
        hot = np.zeros((len(ranks), sum(self.counts)), dtype=np.float32)
        for column, start in enumerate(self._starts):
            hot[np.arange(len(ranks)), start + ranks[:, column]] = 1
        return hot


def _tables(column: int, parameter: Parameter) -> list[DistanceTable]:
    count = len(parameter.values)
    differs = DistanceTable(column, 1.0 - np.eye(count))
    if not parameter.is_number:
        return [differs]
    steps = np.arange(count) / (count - 1)
    along = DistanceTable(column, (steps[:, None] - steps) ** 2)
    return [along, differs] if count > 2 else [along]
