"""Children of configs that did well."""

from __future__ import annotations

import random
from collections.abc import Sequence

from mltune.space.config import Config
from mltune.space.parameter import Parameter


def child_of(
    mother: Config, father: Config, parameters: Sequence[Parameter], chance: random.Random
) -> Config:
    """Take each value from either parent, and one parameter in their number at random.

    Nothing says that the child satisfies the rules of a space.
    """
    others = dict(father.items())
    values = {name: chance.choice((value, others[name])) for name, value in mother.items()}
    for parameter in parameters:
        if chance.random() < 1 / len(parameters):
            values[parameter.name] = chance.choice(parameter.values)
    return Config.of(values)
