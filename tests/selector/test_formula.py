import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mltune.errors import UsageError
from mltune.selector import INT64_MAX, TimeFormula, Waves, padding, work_limit
from mltune.selector.formula import fastest

EXTENTS = st.integers(1, 512)
RATES = st.integers(0, 2**40)


def formula(**fields: Any) -> TimeFormula:
    values = {"rows": 4, "columns": 8, "depth": 2, "launch": 0, "tile": 0, "step": 0}
    return TimeFormula(**{**values, "tile_step": 0, **fields})


@pytest.mark.parametrize(
    ("rates", "expected"),
    [
        ({"launch": 7}, 7),
        ({"tile": 1}, 3 * 2 * 5),
        ({"step": 1}, 4),
        ({"tile_step": 1}, 3 * 2 * 5 * 4),
        ({"waves": (Waves(7, 1),)}, math.ceil(30 / 7) * 4),
        ({"multiples": (3, 8, 7), "odd_step": 5}, 0),
        ({"multiples": (3, 8, 2), "odd_step": 5, "odd_waves": (Waves(7, 1),)}, (5 + 5) * 4),
        ({"wave": 2, "units": 7}, 2 * math.ceil(30 / 7)),
        ({"result_multiples": (3, 8), "odd_tile": 5}, 0),
        ({"result_multiples": (4, 1), "odd_tile": 5}, 5 * 30),
        ({"load_a": 3, "load_b": 7}, 3 * 1 + 7 * 1),
        ({"launch": 1, "tile": 2, "waves": (Waves(30, 3), Waves(29, 1))}, 1 + 60 + (3 + 2) * 4),
    ],
)
def test_counts_tiles_steps_and_waves(rates: dict[str, Any], expected: int) -> None:
    # 9 x 16 x 7 in five products: 3 x 2 tiles of each, 4 steps
    assert formula(**rates).femtoseconds(9, 16, 7, 5) == expected


def test_parts_of_blocks_of_a_and_b_count_as_whole_ones() -> None:
    asked = formula(load_a=3, load_b=7)

    assert asked.femtoseconds(64, 1, 32, 2) == 3 * 4 + 7 * 1
    assert asked.femtoseconds(64, 33, 32) == 3 * 2 + 7 * 2


def test_the_least_time_wins_and_the_first_of_equals() -> None:
    formulas = [formula(launch=5), formula(launch=3), formula(launch=3), formula(tile=1)]

    assert fastest(formulas, 4, 8, 1) == 3
    assert fastest(formulas, 4 * 9, 8, 1) == 1


@given(
    rows=EXTENTS, columns=EXTENTS, depth=EXTENTS, launch=RATES, tile=RATES, step=RATES,
    tile_step=RATES, slots=st.integers(1, 2000), wave=RATES, data=st.data(),
)  # fmt: skip
def test_no_time_within_the_limit_overflows(
    rows: int, columns: int, depth: int, launch: int, tile: int, step: int, tile_step: int,
    slots: int, wave: int, data: st.DataObject,
) -> None:  # fmt: skip
    asked = TimeFormula(
        rows=rows, columns=columns, depth=depth, launch=launch, tile=tile, step=step,
        tile_step=tile_step, waves=(Waves(slots, wave),),
        multiples=(2, 2, 2), odd_step=wave, odd_waves=(Waves(slots, step),), wave=wave,
        units=slots, result_multiples=(2, 2), odd_tile=step, load_a=step,
        load_b=launch,
    )  # fmt: skip
    limit, pad = work_limit([asked]), padding([asked])
    longest = [data.draw(st.integers(0, 2**30)) for _ in range(2)]
    left = limit // math.prod(extent + pad for extent in longest)
    sizes = [*longest, max(left - pad, 0)]
    order: Callable[[Any], Any] = data.draw(st.permutations(range(3))).__getitem__
    m, n, k = (sizes[order(place)] for place in range(3))
    if (m + pad) * (n + pad) * (k + pad) <= limit:
        assert asked.femtoseconds(m, n, k) <= INT64_MAX


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"rows": 0}, "time formula: rows must be a whole number from 1 to 1048576, got 0"),
        ({"launch": -1}, "time formula: launch must be a whole number from 0"),
        ({"step": 1.0}, "time formula: step must be a whole number from 0 to .*, got 1.0"),
        ({"waves": (Waves(1, 1),) * 17}, "time formula: at most 16 terms for waves, got 17"),
    ],
)
def test_numbers_out_of_range_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        formula(**fields)


def test_waves_need_a_slot() -> None:
    with pytest.raises(UsageError, match="time formula: slots must be a whole number from 1"):
        Waves(0, 1)
