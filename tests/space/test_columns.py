from __future__ import annotations

import numpy as np
import pytest

from mltune.kernel.space_file import load_space
from mltune.problem import ComputeType, Precision
from mltune.resources import data_folder
from mltune.space.constraint import Constraint, Derived
from mltune.space.names import precision_names
from mltune.space.parameter import Parameter
from mltune.space.ranks import Ranks, configs_of, ranks_of
from mltune.space.space import Space
from tests.spaces import SHIPPED, each_of


def points_in_and_about(space: Space) -> Ranks:
    """A sample of points, some with other values, so that many points break a rule or two."""
    chance = np.random.default_rng(0)
    ranks = ranks_of(space.parameters, space.sample(chance, 400))
    counts = [len(parameter.values) for parameter in space.parameters]
    anew = chance.random(ranks.shape) < 2 / len(counts)
    changed = np.where(anew, chance.integers(counts, size=ranks.shape), ranks)
    return np.concatenate((ranks[:100], changed))


@pytest.mark.parametrize("name", each_of(SHIPPED))
def test_the_rules_of_shipped_spaces_say_the_same_of_one_point_and_of_many(
    name: str, gpu_names: dict[str, int]
) -> None:
    of_one = {"wgmma-nvidia": Precision.HALF, "mma-double-nvidia": Precision.DOUBLE}
    precision = of_one.get(name, Precision.SINGLE)
    cpu_names = {"local_mem_bytes": 1 << 20} if name.endswith("cpu") else {}
    loaded = load_space(data_folder("spaces") / f"{name}.yaml")
    compute = ComputeType.BF16 if "rounded" in name else ComputeType.FULL
    of_type = precision_names(precision, compute=compute)
    space = loaded.bind({**gpu_names, **of_type, **cpu_names})
    ranks = points_in_and_about(space)
    configs = configs_of(space.parameters, ranks)
    allowed = space.allowed(ranks).tolist()

    assert allowed == [config in space for config in configs]
    assert set(allowed) == {True, False}
    assert np.array_equal(ranks_of(space.parameters, configs), ranks)


@pytest.mark.parametrize("rule", ["cube > 0", "a * a * a - a > 0"])
def test_numbers_beyond_64_bits_do_not_wrap(rule: str) -> None:
    space = Space(
        name="large",
        family="none",
        parameters=[Parameter("a", (-1, 1, 3 << 20, 3 << 40))],
        derived=[Derived("cube", "a * a * a")],
        constraints=[Constraint("rule", rule)],
        limits={},
    )

    assert space.allowed(np.arange(4)[:, None]).tolist() == [
        config in space for config in configs_of(space.parameters, np.arange(4)[:, None])
    ]


def test_a_rule_without_names_holds_for_all_or_none() -> None:
    space = Space(
        name="fixed",
        family="none",
        parameters=[Parameter("a", (1, 2))],
        derived=[Derived("least", "min(limit, 7, 9)")],
        constraints=[Constraint("limits", "not (least > 7) and max(limit, 3) >= 3")],
        limits={"limit": 5},
    )

    assert space.allowed(np.array([[0], [1]])).tolist() == [True, True]
