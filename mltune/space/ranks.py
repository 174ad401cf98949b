"""Points as rows of ranks: the place of each value among those of its parameter.

Many points are then one array, which numpy processes at once instead of a loop over configs.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from mltune.space.config import Config
from mltune.space.parameter import Parameter

Ranks = NDArray[np.int64]
"""A row for each point, a column for each parameter."""


def ranks_of(parameters: Sequence[Parameter], configs: Iterable[Config]) -> Ranks:
    """Return a row for each config; all values must be among those of the parameters."""
    rank = {
        (one.name, value): number for one in parameters for number, value in enumerate(one.values)
    }
    names = [one.name for one in parameters]
    rows = [
        [rank[name, values[name]] for name in names]
        for values in (dict(config.items_) for config in configs)
    ]
    return np.array(rows, dtype=np.int64).reshape(-1, len(parameters))


def configs_of(parameters: Sequence[Parameter], ranks: Ranks) -> list[Config]:
    """Return the config of each row; it may break the rules of a space."""
    columns = []
    for name, slot in sorted((one.name, slot) for slot, one in enumerate(parameters)):
        items = [(name, value) for value in parameters[slot].values]
        columns.append([items[rank] for rank in ranks[:, slot].tolist()])
    return list(map(Config, zip(*columns, strict=True)))


def distinct(ranks: Ranks, seen: Ranks) -> Ranks:
    """Return each row once, without those seen."""
    known = set(_keys(seen))
    places = dict(zip(_keys(ranks), range(len(ranks)), strict=True))
    return ranks[[place for key, place in places.items() if key not in known]]


def neighbours_of(parameters: Sequence[Parameter], ranks: Ranks) -> Ranks:
    """Return all rows that differ from one of these in one column, by one step or by a word.

    They may break the rules of a space.
    """
    found = []
    for column, parameter in enumerate(parameters):
        distances = np.array([parameter.distances(value) for value in parameter.values])
        rows, others = np.nonzero(distances[ranks[:, column]] == 1)
        found.append(ranks[rows])
        found[-1][:, column] = others
    return np.concatenate(found)


def _keys(ranks: Ranks) -> Sequence[Hashable]:
    """Return each row as one value that can be looked up."""
    rows = np.ascontiguousarray(ranks)
    return rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel().tolist()
