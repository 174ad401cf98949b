from __future__ import annotations

import math
import statistics
from typing import Any

import optuna
import pytest
from optuna.distributions import IntDistribution
from optuna.samplers import BaseSampler

from mltune.errors import UsageError
from mltune.search.feasible_sampler import FeasibleSampler
from mltune.search.make import make_sampler
from mltune.space.config import Config
from mltune.space.constraint import Constraint
from mltune.space.parameter import Parameter
from mltune.space.space import Space
from tests.studies import Asked

# 3 % of all combinations are feasible, and the best one lies on the border.
NARROW = Space(
    name="narrow",
    family="none",
    parameters=[Parameter(name, (1, 2, 4, 8, 16, 32)) for name in "abcd"]
    + [Parameter("word", ("x", "y", "z")), Parameter("flag", (0, 1)), Parameter("fixed", (7,))],
    constraints=[Constraint("product", "a * b == c * d"), Constraint("size", "a * b >= 64")],
    limits={},
)


def seconds(config: Config) -> float:
    targets = zip("abcd", (5, 2, 4, 3), strict=True)
    squares = sum((math.log2(config.int(name)) - target) ** 2 for name, target in targets)
    return 1 + squares + 2 * (config["word"] != "y") + config.int("flag")


def best_of(name: str, seed: int, budget: int) -> float:
    asked = Asked(make_sampler(name, NARROW, seed))
    steps = asked.steps(lambda config, sizes: seconds(config), budget)
    assert len(steps) == budget
    assert all(config in NARROW for config, _ in steps)
    return min(seconds(config) for config, _ in steps)


def test_finds_better_configs_than_chance() -> None:
    best = {
        name: statistics.mean(best_of(name, seed, 40) for seed in range(2))
        for name in ("random", "tpe")
    }

    assert best["tpe"] < best["random"]
    assert best["tpe"] < 2.5


class Wishing(BaseSampler):
    """Wishes for the same values each time, and notes the results that it hears."""

    def __init__(self, **wished: Any) -> None:
        self._wished = wished
        self.noted: list[object] = []

    def infer_relative_search_space(self, study: Any, trial: Any) -> dict[str, Any]:
        return {}

    def sample_relative(self, study: Any, trial: Any, search_space: Any) -> dict[str, Any]:
        return {}

    def sample_independent(self, study: Any, trial: Any, param_name: str, _: Any) -> Any:
        return self._wished[param_name]

    def before_trial(self, study: Any, trial: Any) -> None:
        self.noted.append(trial.number)

    def after_trial(self, study: Any, trial: Any, state: Any, values: Any) -> None:
        self.noted.append((state.name, values))

    def reseed_rng(self) -> None:
        self.noted.append("reseeded")


SMALL = Space(
    name="small",
    family="none",
    parameters=[Parameter("x", (1, 2, 4, 8, 16)), Parameter("y", (0, 3, 10))],
    constraints=[Constraint("few", "x * y <= 100")],
    limits={},
)


@pytest.mark.parametrize(
    ("x", "y", "granted"),
    [(4, 3, (4, 3)), (5, 1, (4, 0)), (6, 5, (8, 3)), (3, 7, (4, 10)), (12, 3, (16, 3))],
)
def test_a_number_between_the_values_becomes_the_nearest(
    x: int, y: int, granted: tuple[int, int]
) -> None:
    sampler = FeasibleSampler(SMALL, Wishing(x=x, y=y), numeric=True)
    config = Asked(sampler).config()

    assert config == Config.of(dict(zip("xy", granted, strict=True)))


@pytest.mark.parametrize(
    ("wish", "granted"), [({"word": 3, "x": 8}, ("a", 8)), ({"word": "b", "x": "z"}, ("b", 1))]
)
def test_a_value_of_another_spaces_parameter_becomes_the_first(
    wish: dict[str, int | str], granted: tuple[str, int]
) -> None:
    both = [Parameter("word", ("a", "b")), Parameter("x", (1, 8))]
    space = Space(name="both", family="none", parameters=both, limits={})
    others = [Parameter("word", (3, 4)), Parameter("x", ("y", "z"))]

    config = Asked(FeasibleSampler(space, Wishing(**wish)), others=others).config()

    assert config == Config.of(dict(zip(("word", "x"), granted, strict=True)))


def test_what_may_not_be_granted_becomes_the_nearest_feasible_config() -> None:
    sampler = FeasibleSampler(SMALL, Wishing(x=16, y=10))
    found = [config for config, _ in Asked(sampler).steps(lambda config, sizes: 1.0)]

    assert found[0] in SMALL.near(Config.of({"x": 16, "y": 10}), 3)
    assert set(found) == set(SMALL)


def test_a_sampler_whose_library_is_missing_says_so_in_one_line() -> None:
    class Lazy(Wishing):
        def sample_relative(self, study: Any, trial: Any, search_space: Any) -> dict[str, Any]:
            raise ModuleNotFoundError("No module named 'no_such_library'")

    with pytest.raises(
        UsageError,
        match=r"^sampler: Lazy: No module named 'no_such_library'; install it with pip$",
    ):
        Asked(FeasibleSampler(SMALL, Lazy())).config()


def test_numbers_are_ranges_for_who_computes_with_them() -> None:
    x, y = FeasibleSampler(SMALL, Wishing(), numeric=True).distributions.values()

    assert x == IntDistribution(1, 16, log=True)
    assert y == IntDistribution(0, 10)


def test_the_sampler_is_told_of_each_trial() -> None:
    wishing = Wishing(x=1, y=0)
    sampler = FeasibleSampler(SMALL, wishing)
    study = optuna.create_study(sampler=sampler)
    study.tell(study.ask(sampler.distributions), 2.5)
    study.tell(study.ask(sampler.distributions), state=optuna.trial.TrialState.FAIL)
    sampler.reseed_rng()

    assert wishing.noted == [0, ("COMPLETE", [2.5]), 1, ("FAIL", None), "reseeded"]
