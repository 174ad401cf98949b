"""The work of whole tiles beyond the edges of C, and how much of it times show."""

import math

import numpy as np
import pytest

from mltune.problem import Precision, gemm, gemm_problem
from mltune.search.guided import GuidedSampler
from mltune.search.tile_quantization import TileQuantization
from mltune.space import Config
from mltune.space.load import parse_space
from mltune.space.recorded import RecordedSpace
from tests.studies import Asked

SPACE = parse_space(
    """
name: tiles
family: tiled
parameters:
  side_0: {values: [8, 16, 32, 64], meaning: rows}
  side_1: {values: [8, 16, 32, 64], meaning: columns}
  depth_u: {values: [4, 8, 16], meaning: terms}
  flag: {values: [0, 1, 2, 3, 4, 5, 6, 7], meaning: something else}
derived:
  macro_tile_0: side_0 * 1
  macro_tile_1: side_1 * 1
""",
    "tiles",
).bind({})
SIZES = ((64, 64, 64), (65, 8, 10), (24, 200, 9), (8, 8, 64))
PROBLEMS = [gemm_problem(gemm(Precision.SINGLE), *size) for size in SIZES]


def config(rows: int, columns: int, depth: int, flag: int = 0) -> Config:
    return Config.of({"side_0": rows, "side_1": columns, "depth_u": depth, "flag": flag})


def test_it_counts_whole_tiles_and_whole_steps() -> None:
    work = TileQuantization(SPACE, PROBLEMS)

    area, steps = np.moveaxis(work.logs([config(64, 16, 8)]), 2, 0)

    assert work.tells
    assert np.exp(area[0]) == pytest.approx(
        [1, 128 * 16 / 65 / 8, 64 * 208 / 24 / 200, 64 * 16 / 64]
    )
    assert np.exp(steps[0]) == pytest.approx([1, 16 / 10, 16 / 9, 1])


def test_the_rows_of_a_turned_problem_are_those_that_run_fastest_in_c() -> None:
    row_major = gemm_problem(gemm(Precision.SINGLE, order="row"), 65, 8, 10)

    area = TileQuantization(SPACE, [row_major, PROBLEMS[0]]).logs([config(64, 8, 8)])[0, 0, 0]

    assert math.exp(area) == pytest.approx(64 * 72 / 8 / 65)


def test_it_finds_how_much_of_it_times_show() -> None:
    work = TileQuantization(SPACE, PROBLEMS)
    configs = [*SPACE]
    rng = np.random.default_rng(0)
    own, sizes = rng.normal(size=(len(configs), 1)), rng.normal(size=len(SIZES))
    values = own + sizes + work.logs(configs) @ np.array([0.8, 0.3])
    values[::3, 1] = np.nan
    values[5] = np.inf

    assert work.shares(configs, values) == pytest.approx([0.8, 0.3], abs=0.03)


def test_a_list_and_a_single_size_tell_nothing() -> None:
    assert not TileQuantization(RecordedSpace("list", [config(8, 8, 4)]), PROBLEMS).tells
    assert not TileQuantization(SPACE, PROBLEMS[:1]).tells


@pytest.mark.long
def test_guided_finds_the_right_tile_of_each_size_sooner_with_it() -> None:
    work = TileQuantization(SPACE, PROBLEMS)
    counts = (1000,) * len(SIZES)

    def values(one: Config) -> np.ndarray:
        small = 0.05 * (math.log2(64 / one.int("side_0")) + math.log2(64 / one.int("side_1")))
        found: np.ndarray = work.logs([one])[0].sum(axis=1) + small + 0.02 * one.int("flag")
        return found

    def lost(known: TileQuantization | None, seed: int) -> float:
        sampler = GuidedSampler(SPACE, seed, counts, work=known)
        best = np.full(len(SIZES), np.inf)
        steps = Asked(sampler, len(SIZES)).steps(
            lambda one, sizes: {size: math.exp(values(one)[size]) for size in sizes}, 25
        )
        for one, sizes in steps:
            for size in sizes:
                best[size] = min(best[size], values(one)[size])
        return float((best - np.min([values(one) for one in SPACE], axis=0)).sum())

    seeds = range(2)
    assert sum(lost(work, s) for s in seeds) < sum(lost(None, s) for s in seeds)
