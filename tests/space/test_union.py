"""A union of spaces: its configs, how they are drawn, and the names of their families."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from mltune.errors import UsageError
from mltune.space.config import Config
from mltune.space.constraint import Constraint
from mltune.space.feasible import FeasiblePoints
from mltune.space.load import parse_space
from mltune.space.parameter import Parameter
from mltune.space.recorded import RecordedSpace
from mltune.space.space import Space
from mltune.space.union import (
    UnionSpace,
    family_parameter,
    members_of,
    with_family,
    without_family,
)


def made(family: str, *parameters: Parameter, rule: str = "1 == 1") -> Space:
    return Space(
        name=f"of {family}",
        family=family,
        parameters=[family_parameter(family), *parameters],
        constraints=[Constraint("rule", rule)],
        limits={},
    )


X = Parameter("x", (1, 2, 3, 4, 5, 6))
Y = Parameter("y", (10, 20))
EVEN = made("a", X, rule="x % 2 == 0")
LOW = made("a", X, rule="x <= 3")
HIGH = made("a", Parameter("x", (2, 3, 4, 5, 6)), rule="x != 5")
OTHER = made("b", X, Y)
UNION = UnionSpace("all", [EVEN, LOW, HIGH, OTHER])


def test_a_config_of_two_members_counts_once() -> None:
    found = list(UNION)

    assert len(found) == len(set(found)) == UNION.size == 5 + 12
    assert {config["x"] for config in found if config["family"] == "a"} == {1, 2, 3, 4, 6}
    assert all(config in UNION for config in found)
    assert Config.of({"family": "a", "x": 5}) not in UNION
    assert Config.of({"x": 2}) not in UNION


@pytest.mark.parametrize("seed", range(8))
def test_members_that_overlap_in_values_and_rules_are_counted_as_they_are_listed(
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)

    def some(name: str) -> Parameter:
        return Parameter(name, tuple(map(int, rng.choice(9, rng.integers(3, 9), replace=False))))

    members = [
        made("a", some("x"), some("y"), rule=f"(x + {n} * y) % {rng.integers(2, 5)} != 1")
        for n in range(5)
    ]
    union = UnionSpace("random", members)

    assert union.size == len(list(union)) == len(set().union(*members))


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What has been counted."""
    counts: list[object] = []

    def counting(*given: object) -> FeasiblePoints:
        counts.append(given)
        return FeasiblePoints(*given)  # type: ignore[arg-type]

    monkeypatch.setattr("mltune.space.space.FeasiblePoints", counting)
    return counts


def test_many_members_that_overlap_are_counted_in_few_steps(counts: list[object]) -> None:
    members = [
        made("a", Parameter("x", (*({*range(30)} - {n}),)), Y, rule=f"x * y != {n * 20 + 20}")
        for n in range(20)
    ]
    counts.clear()

    assert UnionSpace("many", members).size == 30 * 2
    assert len(counts) < 20**2


def test_members_that_all_lack_a_value_of_every_parameter_are_counted_in_few_steps(
    counts: list[object],
) -> None:
    members = [
        made("a", *(Parameter(name, (*({*range(9)} - {n}),)) for name in "pqrstuvw"))
        for n in range(6)
    ]
    counts.clear()

    # A config is in no member if each of 0 to 5 is a parameter's value (inclusion and exclusion).
    in_none = sum((-1) ** n * math.comb(6, n) * (9 - n) ** 8 for n in range(7))
    assert UnionSpace("lacking", members).size == 9**8 - in_none
    assert len(counts) < 2**6


def test_members_without_a_common_value_of_a_divisor_have_no_common_config() -> None:
    two, three = (made("a", X, Parameter("y", (y,)), rule="x // y > 0") for y in (2, 3))

    assert UnionSpace("apart", [two, three]).size == two.size + three.size == 5 + 4


def test_lists_that_overlap_count_once_too() -> None:
    lists = [
        RecordedSpace("list", [Config.of({"family": "a", "x": x}) for x in values], "a")
        for values in ((1, 2, 3), (3, 4), (2, 4, 5))
    ]

    assert UnionSpace("lists", lists).size == 5


def test_every_family_is_drawn_as_often_whatever_its_size() -> None:
    drawn = UNION.sample(np.random.default_rng(1), 8)

    assert len(set(drawn)) == 8
    assert Counter(config["family"] for config in drawn) == {"a": 4, "b": 4}
    assert set(UNION.sample(np.random.default_rng(1), 99)) == set(UNION)


def test_near_looks_in_the_member_that_has_the_values() -> None:
    near = UNION.near({"family": "b", "x": 3, "y": 10}, 3)

    assert near[0] == Config.of({"family": "b", "x": 3, "y": 10})
    with pytest.raises(UsageError, match="no member has the values"):
        UNION.near({"family": "b", "x": 3}, 3)


def test_parameters_have_the_values_of_all_members() -> None:
    assert {one.name: one.values for one in UNION.parameters} == {
        "family": ("a", "b"),
        "x": (1, 2, 3, 4, 5, 6),
        "y": (10, 20),
    }
    assert (UNION.families, UNION.family) == (("a", "b"), "a, b")
    assert UNION.of_family("b") == (OTHER,)
    assert members_of(UNION) == (EVEN, LOW, HIGH, OTHER)
    assert members_of(EVEN) == (EVEN,)


def test_a_member_has_to_name_its_family() -> None:
    plain = Space(name="plain", family="a", parameters=[X], limits={})

    with pytest.raises(UsageError, match="member 'plain' names no family"):
        UnionSpace("wrong", [plain])
    with pytest.raises(UsageError, match="needs at least one member"):
        UnionSpace("none", [])


def test_a_family_is_named_and_left_out() -> None:
    plain = Config.of({"x": 1, "a": 2})

    assert with_family(plain, "tiled") == Config.of({"x": 1, "a": 2, "family": "tiled"})
    assert without_family(with_family(plain, "tiled")) == plain


SPACE = """
name: small
family: tiled
default: {x: 4, word: b}
parameters:
  x: {values: [1, 2, 4]}
  y: {values: [7]}
  word: {values: [a, b]}
constraints:
  limit: x <= max_work_group_size
"""


def test_the_default_is_the_config_that_a_file_names_or_one_near_it() -> None:
    file = parse_space(SPACE, "small.yaml")

    wide, narrow = (
        file.bind({"max_work_group_size": most}, in_union=True).default for most in (8, 2)
    )
    assert wide == Config.of({"family": "tiled", "x": 4, "y": 7, "word": "b"})
    assert narrow == Config.of({"family": "tiled", "x": 2, "y": 7, "word": "b"})
    assert (
        parse_space(SPACE.replace("default: {x: 4, word: b}", ""), "s")
        .bind({"max_work_group_size": 8})
        .default
        is None
    )


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("{z: 4}", "default: unknown parameter 'z'"),
        ("{x: 3}", r"default: parameter 'x' cannot be 3 \(allowed: 1, 2, 4\)"),
        ("{x: [1]}", "default 'x' must be a whole number or text"),
    ],
)
def test_a_default_that_cannot_be_is_refused(wrong: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        parse_space(SPACE.replace("{x: 4, word: b}", wrong), "small.yaml")
