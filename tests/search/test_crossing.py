from __future__ import annotations

import random

from mltune.search.crossing import child_of
from mltune.space.config import Config
from mltune.space.parameter import Parameter

PARAMETERS = [Parameter(name, tuple(range(100))) for name in "abcd"]
MOTHER = Config.of(dict.fromkeys("abcd", 1))
FATHER = Config.of(dict.fromkeys("abcd", 2))


def test_a_child_takes_after_both_parents_but_for_a_parameter_or_so() -> None:
    chance = random.Random(0)
    values = [
        value
        for _ in range(500)
        for value in child_of(MOTHER, FATHER, PARAMETERS, chance).values()
    ]

    assert 600 < values.count(1) < 900
    assert 600 < values.count(2) < 900
    assert 350 < sum(value not in (1, 2) for value in values) < 650
