import math
from itertools import product
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mltune.errors import UsageError
from mltune.selector import INT64_MAX, Leaf, Rule, TimeFormula, Waves, padding, work_limit
from mltune.selector.formula import MOST_EXTENT, fastest, has_times

EXTENTS = st.integers(1, 512)
RATES = st.sampled_from([0, 1, 2**40])


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
        # 9 is halved three times until it suits rows of 8, 16 never, and 7 once for 2
        ({"multiples": (8, 8, 2), "narrowed": (4, 9, 8), "odd_step": 5}, (4 * 3 + 8) * 5 * 4),
        ({"multiples": (1, 8, 8), "narrowed": (4, 9, 0), "odd_step": 5}, 0),
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


def test_kernels_up_to_a_fifth_slower_than_the_best_are_likely_the_best_first() -> None:
    rule = Rule(Leaf(0), tuple(formula(launch=time) for time in (1300, 1200, 1000, 1201)))

    assert rule.likely(4, 8, 1) == (2, 1)
    assert rule.likely(2**40, 8, 1) == ()


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
        multiples=(2, 8, 2), odd_step=wave, odd_waves=(Waves(slots, step),), wave=wave,
        narrowed=data.draw(st.sampled_from([(0, 0, 0), (rows, columns, 0), (0, 0, 2048)])),
        units=slots, result_multiples=(2, 2), odd_tile=step, load_a=step,
        load_b=launch,
    )  # fmt: skip
    both = [asked, formula(launch=1)]
    limit, pad = work_limit(both), padding(both)
    sizes = [2 ** data.draw(st.integers(0, 31)) for _ in range(3)]
    while (left := limit // ((sizes[0] + pad) * (sizes[1] + pad) * sizes[2]) - pad) < 0:
        assume(max(sizes) > 1)
        sizes = [max(1, size // 2) for size in sizes]
    *extents, batch = sizes
    m, n, k = data.draw(st.permutations([*extents, min(left, MOST_EXTENT)]))

    assert has_times(m, n, k, batch, pad=pad, limit=limit)
    assert asked.femtoseconds(m, n, k, batch) <= INT64_MAX


@pytest.mark.parametrize(
    "rates",
    [
        {"tile": 2**40},
        {"step": 2**40},
        {"tile_step": 2**40},
        {"waves": (Waves(1, 2**40),)},
        {"waves": (Waves(2**31, 2**40),)},
        {"multiples": (2, 1, 1), "odd_step": 2**40},
        {"multiples": (1, 2, 1), "odd_waves": (Waves(1, 2**40),)},
        {"multiples": (8, 1, 2), "narrowed": (4, 0, 8), "odd_step": 2**36},
        {"wave": 2**40, "units": 7},
        {"result_multiples": (1, 2), "odd_tile": 2**40},
        {"load_a": 2**40},
        {"load_b": 2**40},
    ],
)
def test_the_limit_leaves_nearly_63_bits_to_the_longest_time(rates: dict[str, Any]) -> None:
    both = [formula(**rates), formula(launch=1)]
    limit, pad = work_limit(both), padding(both)
    times = []
    for place, others in product(range(4), product((0, 1, 1025), repeat=3)):
        size = [*others[:place], 0, *others[place:]]
        left = limit // math.prod(max(each, 1) for each in padded(size, pad, without=place))
        size[place] = left - (pad if place < 3 else 0)
        if 0 < size[place] <= MOST_EXTENT:
            assert has_times(*size, pad=pad, limit=limit)
            times.append(both[0].femtoseconds(*size))
            size[place] += 1
            assert not has_times(*size, pad=pad, limit=limit)

    assert INT64_MAX / 2 < max(times) <= INT64_MAX


def padded(size: list[int], pad: int, *, without: int) -> list[int]:
    whole = [*(extent + pad for extent in size[:3]), size[3]]
    return whole[:without] + whole[without + 1 :]


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
