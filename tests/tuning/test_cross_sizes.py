"""The default further sizes for the leaders."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mltune.problem import Size, parse_problem_type, problem_of_size
from mltune.problem.sizes import parse_sizes
from mltune.run.run_info import RunInfo
from mltune.runner.capacity import fits
from mltune.tuning.cross_sizes import MOST, default_cross_sizes, spread_order, unseen_sizes
from mltune.tuning.new_run import new_run_info
from mltune.tuning.resumed_run import check_resumed
from mltune.tuning.search_options import SearchOptions
from tests.devices import CPU, GPU

SGEMM = parse_problem_type("sgemm_nn")


def test_hundreds_of_sizes_of_the_suites_that_are_not_searched_on() -> None:
    searched = parse_sizes("gpu")

    found = default_cross_sizes(SGEMM, searched, GPU)

    suites = {size.extents for size in parse_sizes("spread,models")}
    first = next(number for number, size in enumerate(found) if size.extents not in suites)
    assert first > 400
    assert not {size.extents for size in found} & {size.extents for size in searched}
    assert found == default_cross_sizes(SGEMM, searched[::-1], GPU)


def test_when_the_suites_are_used_up_one_extent_is_another_sizes() -> None:
    suites = [size.extents for size in parse_sizes("spread,models")]

    found = [size.extents for size in default_cross_sizes(SGEMM, parse_sizes("gpu"), GPU)]

    assert len(found) == len(set(found)) == MOST
    pairs = {(m, n, 0) for m, n, _ in suites} | {(m, 0, k) for m, _, k in suites}
    pairs |= {(0, n, k) for _, n, k in suites}
    for m, n, k in found:
        assert {(m, n, 0), (m, 0, k), (0, n, k)} & pairs


def largest(sizes: Sequence[Size]) -> float:
    return max(problem_of_size(SGEMM, size.extents).flops for size in sizes)


def test_on_a_processor_they_are_smaller() -> None:
    found = default_cross_sizes(SGEMM, parse_sizes("cpu"), CPU)

    assert len(found) > 400
    assert largest(found) < 2e9


def test_on_a_gpu_their_operands_may_exceed_its_cache_several_times() -> None:
    found = default_cross_sizes(SGEMM, parse_sizes("gpu"), GPU)

    assert 6 < largest(found) / largest(parse_sizes("spread")) <= 10


def test_what_a_device_has_no_room_for_is_left_out() -> None:
    small = replace(GPU, max_alloc_bytes=2**24)

    found = default_cross_sizes(SGEMM, parse_sizes("gpu"), small)

    assert all(fits(problem_of_size(SGEMM, size.extents), small) for size in found)
    suites = {size.extents for size in parse_sizes("spread,models")}
    of_suites, on_gpu = (
        [size for size in default_cross_sizes(SGEMM, parse_sizes("gpu"), device)
         if size.extents in suites]
        for device in (small, GPU)
    )  # fmt: skip
    assert 100 < len(of_suites) < len(on_gpu)
    tiny = replace(GPU, max_alloc_bytes=16)
    assert default_cross_sizes(SGEMM, parse_sizes("gpu"), tiny) == ()


@pytest.mark.parametrize(
    ("problem", "sizes"),
    [
        ("sgemm_nn", "512x512x512"),
        ("sgemm_nn", "models"),
        ("sgemm_nn_batched", "64x64x64x8,32x32x32x8"),
        ("s:bmk,kcn->bmcn", "8x8x8x8x8,8x8x8x8x16"),
    ],
)
def test_none_where_the_named_ones_are_all_that_matter(problem: str, sizes: str) -> None:
    assert default_cross_sizes(parse_problem_type(problem), parse_sizes(sizes), GPU) == ()


def test_none_beside_a_log_of_calls() -> None:
    sizes = (Size((64, 64, 64), 1000), Size((32, 32, 32), 7))

    assert default_cross_sizes(SGEMM, sizes, GPU) == ()


def test_the_first_few_are_spread_over_all_of_them() -> None:
    sides = [2**power for power in range(3, 11)]
    points = list(itertools.product(sides, sides, sides))

    order = spread_order(points, [(64, 64, 64)])

    at = np.log2(np.array(points, dtype=float))
    taken = np.log2([(64, 64, 64), *(points[number] for number in order[:16])])
    farthest = np.linalg.norm(at[:, None] - taken[None], axis=2).min(axis=1)
    assert sorted(order) == list(range(len(points)))
    assert farthest.mean() < 2  # by chance 2.1 to 2.6


def test_where_nothing_was_chosen_before_the_middle_comes_first() -> None:
    points = [(2**power, 2**power, 2**power) for power in (10, 0, 1, 2, 3)]

    order = spread_order(points)

    # Sums of distances, in steps along the diagonal: 34, 16, 13, 12, 13.
    assert order[:2] == (3, 0)
    assert sorted(order) == [0, 1, 2, 3, 4]
    assert spread_order([]) == ()
    # After the last of them, what is far away: by 7, 4, 4, 2, 0.
    assert spread_order(points, [(8, 8, 8)])[0] == 0


@pytest.mark.parametrize(
    ("text", "count", "share"), [("none", 0, 0), ("auto", 400, 0.25), ("8x8x8,9x9x9", 2, 0)]
)
def test_a_run_says_which_and_whether_as_many_as_fit(
    info: RunInfo, text: str, count: int, share: float
) -> None:
    made = new_run_info(SearchOptions(cross_sizes=text), GPU, info.searched_spaces)

    assert len(made.cross_sizes) >= count
    assert made.cross_share == share
    assert RunInfo.from_json(made.to_json()) == made
    assert made.final_problems == (made.problems if share else made.cross_problems)
    check_resumed(SearchOptions(cross_sizes=text), made, Path("run"))


def test_sizes_that_nothing_was_measured_on_were_not_measured_on(info: RunInfo) -> None:
    asked = replace(info, cross_sizes=parse_sizes("9x9x9,10x9x9,11x9x9"), cross_share=0.25)

    met = asked.measured_on([asked.cross_problems[-1]])

    assert [size.label for size in met.cross_sizes] == ["11x9x9"]
    assert replace(asked, cross_share=0.0).measured_on([]).cross_sizes == asked.cross_sizes


def test_unseen_sizes_are_those_of_models_that_were_not_timed_in_an_order_by_chance() -> None:
    models = [size.extents for size in parse_sizes("models")]
    seen = [(*size, 1) for size in models[::2]]

    found = unseen_sizes(SGEMM, seen, GPU, 0)

    extents = [size.extents for size in found]
    assert set(extents) <= set(models[1::2])
    assert len(extents) > 60
    assert found == unseen_sizes(SGEMM, seen[::-1], GPU, 0)
    other = unseen_sizes(SGEMM, seen, GPU, 1)
    assert other != found
    assert sorted(size.extents for size in other) == sorted(extents)
    for other_type in ("sgemm_nn_batched", "s:abk,kc->abc"):
        assert not unseen_sizes(parse_problem_type(other_type), (), GPU, 0)
