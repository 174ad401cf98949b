from __future__ import annotations

import numpy as np

from mltune.search.encoding import Encoding
from mltune.space.config import Config
from mltune.space.constraint import Derived
from mltune.space.parameter import Parameter
from mltune.space.recorded import RecordedSpace
from mltune.space.space import Space

SPACE = Space(
    name="tiles",
    family="none",
    parameters=[
        Parameter("rows", (1, 2, 4, 8)),
        Parameter("columns", (1, 2, 4, 8)),
        Parameter("way", ("a", "b", "c")),
        Parameter("fixed", (5,)),
    ],
    derived=[Derived("tile", "rows * columns"), Derived("constant", "fixed + 1")],
    limits={},
)


def config(rows: int, columns: int, way: str = "a") -> Config:
    return Config.of({"rows": rows, "columns": columns, "way": way, "fixed": 5})


def test_what_is_derived_stands_beside_the_parameters_in_half_octaves() -> None:
    encoding = Encoding(SPACE)

    assert encoding.width == 4
    assert encoding.ranks([config(1, 8), config(8, 1, "c"), config(8, 8)]).tolist() == [
        [0, 3, 0, 6],
        [3, 0, 2, 6],
        [3, 3, 0, 12],
    ]


def test_the_ends_of_what_is_derived_are_one_apart() -> None:
    tile = Encoding(SPACE).tables[-1]

    assert tile.column == 3
    assert tile.squares.shape == (13, 13)
    assert tile.squares[0, 12] == 1
    assert tile.squares[3, 6] == 1 / 16


def test_a_list_of_configs_derives_nothing() -> None:
    space = RecordedSpace("list", SPACE)

    assert Encoding(space).width == 3
    assert space.derived(np.zeros((1, 4), dtype=np.int64)) == {}


def test_pairs_of_values_hold_the_distances_of_configs() -> None:
    encoding = Encoding(SPACE)
    pairs, weights = encoding.pairs(), np.arange(1.0, 1 + len(encoding.tables))
    ranks = encoding.ranks(SPACE)
    hot = encoding.indicators(ranks)

    distances = pairs.distances(weights)

    summed = hot @ pairs.table_of(distances) @ hot.T
    shorter = distances[encoding.pairs_with_all(ranks)] @ hot.T
    expected = sum(
        weight * table.squares[ranks[:, table.column][:, None], ranks[:, table.column]]
        for weight, table in zip(weights, encoding.tables, strict=True)
    )
    slopes = np.random.default_rng(0).normal(size=len(pairs.rows))

    np.testing.assert_allclose(summed, expected, rtol=1e-6)
    np.testing.assert_allclose(shorter, expected, rtol=1e-6)
    np.testing.assert_allclose(weights @ pairs.by_table(slopes), distances @ slopes)
