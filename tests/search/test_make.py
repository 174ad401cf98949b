"""Samplers by name: our own, Optuna's and a user's."""

from __future__ import annotations

import contextlib

import pytest

from mltune.errors import UsageError
from mltune.search.feasible_sampler import FeasibleSampler
from mltune.search.make import make_sampler
from mltune.search.random import RandomSampler
from mltune.search.sampler import ConfigSampler
from mltune.space.parameter import Parameter
from mltune.space.space import Space

SPACE = Space(name="line", family="none", parameters=[Parameter("x", (1, 2, 4))], limits={})


def test_a_sampler_over_configs_is_taken_as_it_is() -> None:
    assert type(make_sampler("mltune.search.random:RandomSampler", SPACE, 3)) is RandomSampler


@pytest.mark.parametrize(
    ("name", "is_numeric"), [("CmaEsSampler", True), ("QMCSampler", True), ("TPESampler", False)]
)
def test_who_computes_with_numbers_gets_ranges(name: str, is_numeric: bool) -> None:
    arguments = {"warn_asynchronous_seeding": False} if name == "QMCSampler" else {}
    if name == "QMCSampler":
        pytest.importorskip("scipy")
    with pytest.warns() if name == "QMCSampler" else contextlib.nullcontext():
        sampler: ConfigSampler = make_sampler(
            f"optuna.samplers:{name}", SPACE, 0, arguments=arguments
        )
    kinds = [type(one).__name__ for one in sampler.distributions.values()]

    assert isinstance(sampler, FeasibleSampler)
    assert kinds == ["IntDistribution" if is_numeric else "CategoricalDistribution"]


@pytest.mark.parametrize(
    ("name", "arguments", "rule"),
    [
        ("best", {}, r"unknown sampler 'best' \(known: evolution, .*\); or give module:Class"),
        ("optuna.samplers:Best", {}, "sampler: optuna.samplers:Best: .*no attribute 'Best'"),
        ("no_such_module:Best", {}, "sampler: no_such_module:Best: No module named"),
        ("math:sqrt", {}, "sampler: math:sqrt is no optuna.samplers.BaseSampler"),
        ("optuna.samplers:TPESampler", {"speed": 9}, "unexpected keyword argument 'speed'"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    name: str, arguments: dict[str, object], rule: str
) -> None:
    with pytest.raises(UsageError, match=rule) as caught:
        make_sampler(name, SPACE, 0, arguments=arguments)

    assert "\n" not in str(caught.value)


def test_a_seed_must_not_be_negative() -> None:
    with pytest.raises(UsageError, match="seed: must be at least 0, got -1"):
        make_sampler("random", SPACE, -1)
