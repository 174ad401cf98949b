from __future__ import annotations

import numpy as np

from mltune.space.config import Config
from mltune.space.parameter import Parameter
from mltune.space.ranks import Ranks, configs_of, distinct, neighbours_of, ranks_of

PARAMETERS = (Parameter("size", (1, 4, 8)), Parameter("fixed", (3,)), Parameter("by", ("c", "a")))
CONFIG = Config.of({"size": 4, "fixed": 3, "by": "a"})
NONE: Ranks = np.zeros((0, 3), dtype=np.int64)


def rows(*points: tuple[int, ...]) -> Ranks:
    return np.array(points, dtype=np.int64)


def test_ranks_are_places_among_the_values() -> None:
    assert ranks_of(PARAMETERS, [CONFIG]).tolist() == [[1, 0, 1]]
    assert configs_of(PARAMETERS, rows((1, 0, 1))) == [CONFIG]


def test_no_configs_are_no_rows() -> None:
    assert ranks_of(PARAMETERS, []).shape == NONE.shape
    assert configs_of(PARAMETERS, NONE) == []
    assert distinct(NONE, NONE).shape == neighbours_of(PARAMETERS, NONE).shape == NONE.shape


def test_neighbours_are_one_step_or_another_word_away() -> None:
    parameters = (Parameter("x", tuple(range(5))), Parameter("word", ("a", "b", "c", "d")))
    found = neighbours_of(parameters, rows((0, 1), (2, 3)))

    assert sorted(found.tolist()) == [
        [0, 0], [0, 2], [0, 3], [1, 1], [1, 3], [2, 0], [2, 1], [2, 2], [3, 3],
    ]  # fmt: skip


def test_distinct_rows_are_new_and_stand_once() -> None:
    found = distinct(rows((0, 0, 1), (1, 0, 0), (0, 0, 1), (2, 0, 0)), rows((1, 0, 0)))

    assert sorted(found.tolist()) == [[0, 0, 1], [2, 0, 0]]
