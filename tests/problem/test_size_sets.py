from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mltune.errors import UsageError
from mltune.problem import Size, random_sizes, split_sizes


def sizes_of(count: int) -> tuple[Size, ...]:
    return tuple(Size((number, 1, 1)) for number in range(1, count + 1))


@given(st.integers(0, 40), st.floats(0, 1, exclude_max=True), st.integers())
def test_a_split_keeps_every_size_once_and_in_order(
    count: int, held_out: float, seed: int
) -> None:
    sizes = sizes_of(count)
    train, held = split_sizes(sizes, held_out, seed)

    assert sorted((*train, *held), key=lambda size: size.extents) == list(sizes)
    assert list(train) == sorted(train, key=lambda size: size.extents)
    assert list(held) == sorted(held, key=lambda size: size.extents)
    if count >= 2 and held_out > 0:
        assert train
        assert held


@pytest.mark.parametrize(
    ("count", "held_out", "expected"), [(10, 0.25, 2), (8, 0.25, 2), (100, 0.2, 20), (2, 0.9, 1)]
)
def test_the_share_is_held_out(count: int, held_out: float, expected: int) -> None:
    assert len(split_sizes(sizes_of(count), held_out, 0)[1]) == expected


def test_nothing_is_held_out_of_one_size_or_with_no_share() -> None:
    assert split_sizes(sizes_of(1), 0.5, 0) == (sizes_of(1), ())
    assert split_sizes(sizes_of(5), 0, 0) == (sizes_of(5), ())
    assert split_sizes((), 0.5, 0) == ((), ())


def test_the_choice_depends_on_the_seed_and_not_on_the_order() -> None:
    sizes = sizes_of(30)
    held = {seed: set(split_sizes(sizes, 0.3, seed)[1]) for seed in range(3)}

    assert held[0] != held[1] != held[2]
    assert set(split_sizes(sizes[::-1], 0.3, 0)[1]) == held[0]


def test_the_choice_is_the_same_in_every_version() -> None:
    held = split_sizes(sizes_of(8), 0.25, 1)[1]

    assert [size.label for size in held] == HELD_OUT


@pytest.mark.parametrize("held_out", [-0.1, 1.0, float("nan")])
def test_a_share_out_of_range_is_refused(held_out: float) -> None:
    with pytest.raises(UsageError, match="held-out share must be 0 to below 1"):
        split_sizes(sizes_of(3), held_out, 0)


def test_random_sizes_are_different_in_range_and_repeatable() -> None:
    sizes = random_sizes(500, 3, 1, 300)

    assert len(set(sizes)) == 500
    assert all(1 <= extent <= 300 for size in sizes for extent in size.extents)
    assert sizes == random_sizes(500, 3, 1, 300)
    assert sizes != random_sizes(500, 4, 1, 300)


def test_random_sizes_are_the_same_in_every_version() -> None:
    assert [size.label for size in random_sizes(3, 0, 1, 300)] == DRAWN


def test_awkward_extents_are_drawn_more_often() -> None:
    def lowest(awkward: float) -> int:
        sizes = random_sizes(400, 0, 100, 4096, awkward=awkward)
        return sum(extent == 100 for size in sizes for extent in size.extents)

    assert lowest(1.0) > 10 * lowest(0.0)


def test_small_ranges_can_be_drawn_from() -> None:
    assert random_sizes(1, 0, 5, 5) == (Size((5, 5, 5)),)
    assert len(random_sizes(4, 0, 1, 2)) == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"low": 0}, "need 1 <= low <= high"),
        ({"low": 9, "high": 8}, "need 1 <= low <= high"),
        ({"high": 2**31}, "need 1 <= low <= high"),
        ({"awkward": 1.5}, "awkward share must be 0 to 1, got 1.5"),
        ({"count": 0}, "can draw 1 to 100000 from 1 to 4096, got 0"),
        ({"count": 5, "high": 2}, "can draw 1 to 4 from 1 to 2, got 5"),
    ],
)
def test_arguments_out_of_range_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        random_sizes(**{"count": 1, "seed": 0, **arguments})


HELD_OUT = ["6x1x1", "8x1x1"]
DRAWN = ["123x16x10", "16x178x4", "33x272x175"]
