from __future__ import annotations

import numpy as np
import pytest

from mltune.errors import UsageError
from mltune.space.config import Config
from mltune.space.ranks import configs_of, ranks_of
from mltune.space.recorded import RecordedSpace

CONFIGS = [
    Config.of({"x": x, "way": way})
    for x, way in [(4, "a"), (1, "a"), (2, "b"), (4, "b"), (8, "a"), (1, "a")]
]


def space() -> RecordedSpace:
    return RecordedSpace("list", CONFIGS)


def test_holds_each_config_once_in_order() -> None:
    assert list(space()) == CONFIGS[:5]
    assert space().size == 5
    assert [space().at(number) for number in range(5)] == CONFIGS[:5]
    assert Config.of({"x": 2, "way": "a"}) not in space()
    assert {one.name: one.values for one in space().parameters} == {
        "way": ("a", "b"),
        "x": (1, 2, 4, 8),
    }


def test_allows_the_points_of_the_list() -> None:
    ranks = np.array([(way, x) for way in range(2) for x in range(4)])

    assert space().allowed(ranks).tolist() == [
        config in CONFIGS for config in configs_of(space().parameters, ranks)
    ]
    assert space().allowed(ranks).sum() == 5


def test_near_gives_the_closest_first() -> None:
    assert space().near({"x": 2, "way": "a"}, 3) == (CONFIGS[0], CONFIGS[1], CONFIGS[2])


def test_samples_are_distinct() -> None:
    rng = np.random.default_rng(0)

    assert len(set(space().sample(rng, 3))) == 3
    assert set(space().sample(rng, 99)) == set(CONFIGS)


def test_tells_the_power_of_two_in_numbers_that_are_not_all_whole_powers() -> None:
    blocks = [
        Config.of({"block": block, "tile": tile, "odd": odd, "way": "a"})
        for block, tile, odd in [(48, 1, 1), (64, 2, 3), (80, 4, 5), (32, 8, 7)]
    ]
    listed = RecordedSpace("blocks", blocks)

    derived = listed.derived(ranks_of(listed.parameters, blocks))

    assert {name: column.tolist() for name, column in derived.items()} == {
        "power of two in block": [16, 64, 16, 32]
    }


def test_refuses_what_is_no_list_of_configs() -> None:
    with pytest.raises(UsageError, match="at least one config"):
        RecordedSpace("list", [])
    with pytest.raises(UsageError, match="lacks parameters"):
        RecordedSpace("list", [CONFIGS[0], Config.of({"x": 1})])
    with pytest.raises(IndexError, match="not number 5"):
        space().at(5)
