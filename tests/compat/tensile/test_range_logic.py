"""The range part of library logic."""

from __future__ import annotations

import json
import random
from itertools import product
from typing import Any

import pytest

from mltune.compat.tensile.logic import parse_choice, parse_logic
from mltune.compat.tensile.logic_text import logic_text
from mltune.compat.tensile.range_logic import INDICES, ORDER, range_part, read_ranges
from mltune.errors import UsageError
from mltune.problem import parse_problem_type
from mltune.selector import Leaf, Rival, Split, Tree, depth, features, walk
from mltune.space import Config
from mltune.space.yaml_document import parse_document
from tests.compat.tensile.test_logic import TEXT, WIDE

NAMES = [INDICES[index] for index in ORDER]
EDGES = (0, 1, 2, 3, 63, 64, 65, 127, 128, 129, 10**9)


def read(ranges: Any, order: list[str] | None = None) -> Tree:
    item = parse_document(json.dumps(ranges), "logic.yaml")
    return read_ranges(item, NAMES if order is None else order, {n: n for n in range(9)})


def as_tensile_walks(ranges: Any, extents: dict[str, int], order: list[str] = NAMES) -> int:
    """The algorithm of Tensile's own library: the first threshold that is not exceeded."""
    for name in order:
        ranges = next(
            below for threshold, below in ranges if threshold < 0 or extents[name] <= threshold
        )
    return int(ranges)


def a_tree(rng: random.Random, questions: int) -> Tree:
    if questions == 0:
        return Leaf(rng.randrange(4))
    low, high = a_tree(rng, questions - 1), a_tree(rng, rng.randrange(questions))
    return Split(rng.choice(INDICES), rng.choice((1, 2, 64, 128)), low, high)


RANGES: list[Any] = [
    [[-1, [[64, [[-1, [[-1, 3]]]]], [128, [[2, [[-1, 1]]], [-1, [[64, 0], [-1, 2]]]]],
           [-1, [[-1, [[-1, 4]]]]]]]],
    [[1, [[-1, [[-1, [[-1, 0]]]]]]], [-1, [[-1, [[-1, [[-1, 1]]]]]]]],
]  # fmt: skip


@pytest.mark.parametrize("ranges", RANGES)
def test_ranges_choose_as_tensiles_library_does(ranges: Any) -> None:
    tree = read(ranges)

    for extents in product(EDGES, repeat=4):
        size = dict(zip(INDICES, extents, strict=True))
        values = features(size["m"], size["n"], size["k"], size["batch"])
        assert walk(tree, values) == as_tensile_walks(ranges, size), size


@pytest.mark.parametrize("seed", range(20))
def test_a_tree_that_is_written_reads_back_to_the_same_choices(seed: int) -> None:
    tree = a_tree(random.Random(seed), 5)

    ranges = range_part(tree)
    back = read(ranges)

    for m, n, batch, k in product(EDGES, repeat=4):
        values = features(m, n, k, batch)
        assert walk(back, values) == walk(tree, values), (m, n, batch, k)


def test_without_a_batch_there_are_three_levels() -> None:
    tree = read([[64, [[-1, [[-1, 1]]]]], [-1, [[-1, [[-1, 2]]]]]], ["k", "m", "n"])

    assert tree == Split("k", 64, Leaf(1), Leaf(2))


def test_a_long_chain_is_halved() -> None:
    chain = [[extent, extent % 9] for extent in range(1, 1000)] + [[-1, 0]]

    tree = read(chain, ["m"])

    assert depth(tree) <= 11
    assert [walk(tree, features(m, 1, 1)) for m in (1, 500, 999, 5000)] == [1, 5, 0, 0]


def test_what_is_beyond_the_last_threshold_gets_the_last_rule() -> None:
    assert read([[64, 1], [32, 3], [128, 2]], ["m"]) == Split("m", 64, Leaf(1), Leaf(2))
    assert read([[64, 1], [-1, 2], [128, 3]], ["m"]) == Split("m", 64, Leaf(1), Leaf(2))


def test_questions_that_tensile_lacks_are_refused() -> None:
    with pytest.raises(UsageError, match="m, n, k and batch only, and this tree for mnk"):
        range_part(Split("mnk", 5, Leaf(0), Leaf(1)))
    with pytest.raises(UsageError, match="this tree for time formulas"):
        range_part(Split("m", 5, Leaf(0), Leaf(1, rival=Rival(0, 2048))))


@pytest.mark.parametrize(
    ("ranges", "words"),
    [
        ([], "a list of thresholds is empty"),
        ([[1]], "a threshold and what holds up to it"),
        ([["x", 1]], "a threshold and what holds up to it"),
        ([[-1, 77]], "there is no solution 77"),
        ([[-1, "many"]], "there is no solution many"),
        (7, "must be a list"),
    ],
)
def test_a_mistake_is_told_with_its_line(ranges: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        read(ranges, ["m"])

    assert str(caught.value).startswith("logic.yaml:1:")


def test_exact_sizes_and_ranges_are_written_and_read() -> None:
    contraction = parse_problem_type("sgemm_nt")
    first, second = Config.of(WIDE), Config.of({**WIDE, "depth_u": 24})
    tree = Split("k", 99, Split("m", 7, Leaf(0), Leaf(1)), Leaf(1))

    text = logic_text(contraction, [((96, 64, 32), second, 12.5)], "d", ([first, second], tree))

    configs = parse_logic(text, "logic.yaml").configs
    assert [config["depth_u"] for config in configs] == [12, 24]
    choice = parse_choice(text, "logic.yaml")
    assert choice.exact == (((96, 64, 32, 1), 1),)
    assert choice.tree == tree


def test_without_ranges_there_is_no_tree() -> None:
    choice = parse_choice(TEXT, "logic.yaml")

    assert choice.tree is None
    assert choice.exact == (((64, 128, 256, 1), 0), ((64, 96, 32, 1), 1))


def test_exact_sizes_have_a_batch_and_files_without_batches_three_indices() -> None:
    ranges = "- [[99, [[-1, [[-1, 0]]]]], [-1, [[-1, [[-1, 1]]]]]]"
    flat = TEXT.replace("[64, 128, 1, 256]", "[64, 128, 256]").replace("- null", ranges)

    choice = parse_choice(flat.replace("[2, 3, 0, 1]", "[2, 0, 1]"), "logic.yaml")

    assert choice.exact[0] == ((64, 128, 256, 1), 0)
    assert choice.tree == Split("k", 99, Leaf(0), Leaf(1))
    batched = parse_choice(TEXT.replace("[64, 128, 1, 256]", "[64, 128, 7, 256]"), "logic.yaml")
    assert batched.exact[0] == ((64, 128, 256, 7), 0)


def test_a_solution_without_a_counterpart_cannot_be_chosen() -> None:
    with pytest.raises(UsageError, match="there is no solution 2 with a counterpart"):
        parse_choice(TEXT.replace("[1, 17.5]", "[2, 17.5]"), "logic.yaml")
    with pytest.raises(UsageError, match="order of the indices must name each of them once"):
        parse_choice(
            TEXT.replace("[2, 3, 0, 1]", "[2, 3, 0, 0]").replace("- null", "- [[-1, 0]]"),
            "logic.yaml",
        )
