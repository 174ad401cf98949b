"""Crossover and mutation: children of good configs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mltune.space.parameter import Parameter
from mltune.space.ranks import Ranks


def children_of(
    mothers: Ranks, fathers: Ranks, parameters: Sequence[Parameter], chance: np.random.Generator
) -> Ranks:
    """Take each value from either parent, and change on average one parameter at random.

    The children may break the constraints of a space.

    Args:
        mothers: a row for each child.
        fathers: likewise.
        parameters: one for each column.
        chance: draws the values.
    """
    shape = mothers.shape
    counts = [len(parameter.values) for parameter in parameters]
    mixed = np.where(chance.random(shape) < 0.5, mothers, fathers)
    anew = chance.random(shape) < 1 / len(parameters)
    return np.where(anew, chance.integers(counts, size=shape), mixed)
