from __future__ import annotations

from typing import Any

import pytest

from mltune.errors import UsageError
from mltune.problem import Size, random_sizes


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


DRAWN = ["123x16x10", "16x178x4", "33x272x175"]
