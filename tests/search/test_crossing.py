from __future__ import annotations

import numpy as np

from mltune.search.crossing import children_of
from mltune.space.parameter import Parameter

PARAMETERS = [Parameter(name, tuple(range(100))) for name in "abcd"]
MOTHERS, FATHERS = (np.full((500, 4), rank) for rank in (1, 2))


def test_a_child_takes_after_both_parents_but_for_a_parameter_or_so() -> None:
    children = children_of(MOTHERS, FATHERS, PARAMETERS, np.random.default_rng(0))

    assert children.shape == MOTHERS.shape
    assert 600 < (children == 1).sum() < 900
    assert 600 < (children == 2).sum() < 900
    assert 350 < (children > 2).sum() < 650


def test_every_value_of_a_parameter_may_come_anew() -> None:
    parameters = [Parameter("few", (1, 2, 3)), Parameter("many", tuple(range(5)))]
    parents = np.zeros((500, 2), dtype=np.int64)
    few, many = children_of(parents, parents, parameters, np.random.default_rng(0)).T

    assert set(few) == {0, 1, 2}
    assert set(many) == {0, 1, 2, 3, 4}
