from __future__ import annotations

import itertools
import tracemalloc
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mltune.errors import UsageError
from mltune.space.config import Config, Value
from mltune.space.constraint import Constraint, Derived
from mltune.space.parameter import Parameter
from mltune.space.ranks import configs_of, neighbours_of, ranks_of
from mltune.space.space import Space

RULES = (
    "x * y <= 12",
    "x + y + z <= limit",
    "x % y == 0",
    "tile % 3 != z or word == 'a'",
    "word != 'b' or z > x",
    "max(x, z) * y < 3 * limit",
    "limit >= 0",
    "not (x == y and y == z)",
)


def made(rules: list[str], limit: int = 9) -> Space:
    return Space(
        name="small",
        family="none",
        parameters=[
            Parameter("x", (1, 2, 3, 4)),
            Parameter("word", ("a", "b", "c")),
            Parameter("y", (1, 2, 4, 8)),
            Parameter("z", (0, 1, 5)),
        ],
        derived=[Derived("tile", "x * y")],
        constraints=[Constraint(f"rule_{n}", rule) for n, rule in enumerate(rules)],
        limits={"limit": limit},
    )


def holds(rule: str, limit: int, x: int, word: str, y: int, z: int) -> bool:
    """The rules again, in Python."""
    return {
        "x * y <= 12": x * y <= 12,
        "x + y + z <= limit": x + y + z <= limit,
        "x % y == 0": x % y == 0,
        "tile % 3 != z or word == 'a'": x * y % 3 != z or word == "a",
        "word != 'b' or z > x": word != "b" or z > x,
        "max(x, z) * y < 3 * limit": max(x, z) * y < 3 * limit,
        "limit >= 0": limit >= 0,
        "not (x == y and y == z)": not (x == y == z),
    }[rule]


def brute_force(rules: list[str], limit: int) -> list[Config]:
    product = itertools.product((1, 2, 3, 4), "abc", (1, 2, 4, 8), (0, 1, 5))
    return [
        Config.of({"x": x, "word": word, "y": y, "z": z})
        for x, word, y, z in product
        if all(holds(rule, limit, x, word, y, z) for rule in rules)
    ]


some_rules = st.lists(st.sampled_from(RULES), unique=True)


@settings(max_examples=50)
@given(some_rules, st.integers(1, 15))
def test_agrees_with_brute_force(rules: list[str], limit: int) -> None:
    expected = brute_force(rules, limit)
    if not expected:
        with pytest.raises(UsageError, match="the space is empty"):
            made(rules, limit)
        return
    space = made(rules, limit)

    assert space.size == len(expected)
    assert list(space) == expected
    assert [space.at(index) for index in range(space.size)] == expected


@settings(max_examples=50)
@given(some_rules, st.integers(0, 2**32))
def test_samples_and_neighbours_are_feasible(rules: list[str], seed: int) -> None:
    feasible = set(brute_force(rules, 9))
    space = made(rules)
    sample = space.sample(np.random.default_rng(seed), 20)

    assert len(set(sample)) == len(sample) == min(20, len(feasible))
    assert feasible.issuperset(sample)
    for config in sample:
        assert config in space
        expected = {
            other
            for other in feasible
            if sum(other[name] != config[name] for name in config) == 1
            and all(abs(step) <= 1 for step in steps(config, other))
        }
        near = neighbours_of(space.parameters, ranks_of(space.parameters, [config]))
        neighbours = configs_of(space.parameters, near[space.allowed(near)])
        assert len(neighbours) == len(expected)
        assert set(neighbours) == expected


def steps(one: Config, other: Config) -> list[int]:
    values: dict[str, tuple[Value, ...]] = {"x": (1, 2, 3, 4), "y": (1, 2, 4, 8), "z": (0, 1, 5)}
    return [values[name].index(one[name]) - values[name].index(other[name]) for name in values]


@settings(max_examples=50)
@given(some_rules, st.sampled_from(brute_force([], 9)))
def test_near_finds_the_point_itself_or_feasible_ones(rules: list[str], wanted: Config) -> None:
    space = made(rules)
    found = space.near(wanted, 8)

    assert found
    assert len(set(found)) == len(found)
    assert all(config in space for config in found)
    if wanted in space:
        assert found[0] == wanted


def test_near_is_closest_first() -> None:
    space = made(["x * y <= 12"])
    found = space.near({"x": 4, "word": "c", "y": 8, "z": 5}, 6)
    costs = [
        sum(map(abs, steps(config, Config.of({"x": 4, "y": 8, "z": 5})))) + (config["word"] != "c")
        for config in found
    ]

    assert costs == sorted(costs)
    assert costs[0] == 2


def test_samples_uniformly() -> None:
    space = made(["x * y <= 12", "x % y == 0", "word != 'b' or z > x"])
    rng = np.random.default_rng(7)
    draws = 400
    counts = Counter(c for _ in range(draws) for c in space.sample(rng, 10))
    expected = draws * 10 / space.size

    assert len(counts) == space.size
    assert sum((n - expected) ** 2 / expected for n in counts.values()) < 1.6 * space.size


def test_sample_repeats_with_the_seed() -> None:
    space = made([])

    first, second = (space.sample(np.random.default_rng(3), 9) for _ in range(2))
    assert first == second


def test_a_sample_of_more_than_all_is_all() -> None:
    space = made(["x * y <= 4"])

    assert set(space.sample(np.random.default_rng(0), 10**6)) == set(space)


def test_products_beyond_64_bits_do_not_wrap_around() -> None:
    space = Space(
        name="large",
        family="none",
        parameters=[Parameter(name, (1, 2**33, 2**40)) for name in ("x", "y")],
        constraints=[Constraint("small", "x >= 1"), Constraint("large", "x * y <= 8589934592")],
        limits={},
    )

    assert {(config["x"], config["y"]) for config in space} == {
        (1, 1), (1, 2**33), (2**33, 1),
    }  # fmt: skip


def test_derived_values() -> None:
    config = Config.of({"x": 3, "word": "a", "y": 4, "z": 0})

    space = made([])

    assert space.derived(ranks_of(space.parameters, [config])) == {"tile": [12]}


def test_what_is_no_config_is_not_in_a_space() -> None:
    space = made([])

    assert 7 not in space
    assert {"x": 1} not in space


def test_an_index_outside_is_an_error() -> None:
    with pytest.raises(IndexError, match="has 144 configs, not number 144"):
        made([]).at(144)
    with pytest.raises(IndexError):
        made([]).at(-1)


def test_an_empty_space_names_the_rule_that_empties_it() -> None:
    with pytest.raises(UsageError) as caught:
        made(["x > 2", "tile < limit - 6", "z == 0"])

    assert str(caught.value) == (
        "space: constraint 'rule_1': the space is empty, no config satisfies this and the "
        "constraints before it: tile < limit - 6 (limit = 9)"
    )


@pytest.mark.parametrize("name", ["x", "limit", "min", "or"])
def test_a_taken_name_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match=f"derived '{name}': the name is taken by"):
        Space(
            name="s",
            family="none",
            parameters=[Parameter("x", (1,))],
            derived=[Derived(name, "1")],
            limits={"limit": 1},
        )


def test_derived_values_cannot_grow_without_end() -> None:
    doubling = [Derived(f"d{n + 1}", f"d{n} + d{n}") for n in range(60)]

    with pytest.raises(UsageError, match=r"'d8': has 256 terms .*, at most 200 are allowed"):
        Space(
            name="s",
            family="none",
            parameters=[Parameter("x", (1,))],
            derived=[Derived("d0", "x"), *doubling],
            limits={},
        )


def test_a_huge_space_starts_at_once() -> None:
    names = [f"p{n}" for n in range(12)]
    tracemalloc.start()
    space = Space(
        name="huge",
        family="none",
        parameters=[Parameter(name, (1, 2, 4, 8, 16, 32)) for name in names],
        constraints=[
            Constraint("sum", f"{' + '.join(names)} <= 250"),
            Constraint("product", "p0 * p1 * p2 * p3 <= 4096"),
            Constraint("whole", "p4 % p5 == 0 and (p6 * p7) % p8 == 0"),
        ],
        limits={},
    )
    configs = space.sample(np.random.default_rng(0), 100)
    first = next(iter(space))
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert space.size > 10**8
    assert all(config in space for config in (*configs, first))
    assert peak_bytes < 2**28


def test_sizes_beyond_64_bits_are_sampled() -> None:
    space = Space(
        name="wide",
        family="none",
        parameters=[Parameter(f"p{n}", tuple(range(32))) for n in range(20)],
        constraints=[Constraint("first", "p0 < p19")],
        limits={},
    )
    sample = space.sample(np.random.default_rng(1), 50)

    assert space.size == 31 * 16 * 32**18
    assert len(set(sample)) == 50
    assert all(config in space for config in sample)
