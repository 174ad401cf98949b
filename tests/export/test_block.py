"""Conditions of nested ifs say the same as the features that they are made from."""

from itertools import product

import numpy as np
import pytest

from mltune.export.block import Block, Guard
from mltune.selector import INT64_MAX, Leaf
from mltune.selector.rest import rest_name
from mltune.selector.tiling import CAP, tiling
from mltune.space.expression import evaluate

_LEAF = Block((), Leaf(0))
_USED = (
    "used_1x1_1",
    "used_3x5_7",
    "used_16x16_33",
    "used_128x64_132",
    "used_64x64_1",
    "used_16384x16384_4194304",
    "used_16384x16384_4194305",
    "used_16384x16384_999999999",
)


@pytest.mark.parametrize("feature", _USED)
def test_the_used_share_is_compared_without_a_division_and_without_an_overflow(
    feature: str,
) -> None:
    counted = tiling(feature)
    assert counted is not None
    value_of = counted.of_size()
    rng = np.random.default_rng(7)
    drawn = np.exp(rng.random((300, 3)) * np.log(CAP)).astype(np.int64).tolist()
    corners = [(m, n, b) for m in (0, 1, CAP) for n in (0, 1, CAP) for b in (0, 1, CAP)]
    for m, n, batch in [*drawn, *corners]:
        used = value_of(m, n, 1, batch)
        values = {"capped_m": m, "capped_n": n, "capped_batch": batch}
        for threshold in {max(used - 1, 0), used, used + 1, 511, 1023, 1024, 1025, INT64_MAX}:
            for at_most in (True, False):
                condition = Guard(feature, at_most, threshold, _LEAF).condition
                assert bool(evaluate(condition, values)) == ((used <= threshold) == at_most)
                assert ("//" in str(condition)) == (counted.places > 2**50)
                for side in getattr(condition, "operands", ()):
                    assert abs(evaluate(side, values)) <= INT64_MAX


@pytest.mark.parametrize(
    "tile", [(4, 4, 1), (8, 1, 1), (1, 1, 2), (2, 2, 2), (4, 8, 1), (3, 3, 1), (6, 1, 4)]
)
@pytest.mark.parametrize("at_most", [True, False])
def test_whether_a_tile_leaves_a_rest_is_read_from_the_bits_of_all_extents(
    tile: tuple[int, int, int], at_most: bool
) -> None:
    condition = Guard(rest_name(tile), at_most, 0, _LEAF).condition
    assert ("%" not in str(condition)) == (tile in [(4, 4, 1), (8, 1, 1), (1, 1, 2), (2, 2, 2)])
    extents = (0, 1, 2, 3, 4, 6, 7, 8, 12, 24, 2**31 - 1, 2**40)
    for m, n, k in product(extents, repeat=3):
        whole = m % tile[0] == 0 and n % tile[1] == 0 and k % tile[2] == 0
        assert bool(evaluate(condition, {"m": m, "n": n, "k": k})) == (whole == at_most)
