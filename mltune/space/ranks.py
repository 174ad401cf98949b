"""Points as rows of ranks: where each value stands among those of its parameter.

Many points are one array then, and numpy does with all of them at once what would otherwise be a
loop over configs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from mltune.space.config import Config
from mltune.space.parameter import Parameter

Ranks = NDArray[np.int64]
"""A row for each point, a column for each parameter."""


def ranks_of(parameters: Sequence[Parameter], configs: Iterable[Config]) -> Ranks:
    """Return a row for each config, whose values are all among those of the parameters."""
    rank = {
        (one.name, value): number for one in parameters for number, value in enumerate(one.values)
    }
    names = [one.name for one in parameters]
    rows = [[rank[name, values[name]] for name in names] for values in map(dict, configs)]
    return np.array(rows, dtype=np.int64).reshape(-1, len(parameters))


def configs_of(parameters: Sequence[Parameter], ranks: Ranks) -> list[Config]:
    """Return the config of each row; nothing says that it satisfies the rules of a space."""
    columns = []
    for name, slot in sorted((one.name, slot) for slot, one in enumerate(parameters)):
        items = [(name, value) for value in parameters[slot].values]
        columns.append([items[rank] for rank in ranks[:, slot].tolist()])
    return [Config(items) for items in zip(*columns, strict=True)]
