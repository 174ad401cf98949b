"""AutoGEMM's selection data, and that its tree chooses as AutoGEMM's page describes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from mltune.distil import Size, TimeTable
from mltune.distil.fit import Settings
from mltune.distil.tiles import Line, fit_tiles, selection_data
from mltune.selector import PortfolioKernel, features, walk
from mltune.selector.rest import Tile
from mltune.space.config import Config

TILES: tuple[Tile, ...] = ((16, 16, 8), (64, 64, 16), (128, 64, 16))


def kernel(tile: Tile) -> PortfolioKernel:
    config = {"work_group_0": 8, "thread_tile_0": tile[0] // 8, "work_group_1": 8,
              "thread_tile_1": tile[1] // 8, "depth_u": tile[2]}  # fmt: skip
    name = "_".join(map(str, tile))
    return PortfolioKernel(name=f"k{name}", family="f", config=Config.of(config), source_hash="0")


def seconds(size: Size, tile: Tile) -> float:
    """Large tiles are fast if they fit, and slow if they have an edge."""
    area = tile[0] * tile[1]
    fits = size.m % tile[0] == size.n % tile[1] == 0
    groups = math.ceil(size.m * size.n / area)
    return math.ceil(groups / 8) * math.sqrt(area) * (1.0 if fits else area / 256)


def table_of(extents: Sequence[int], k: int = 64) -> TimeTable:
    sizes = tuple(Size(m, m, k, 1) for m in extents)
    return TimeTable(
        sizes=sizes,
        kernels=tuple(kernel(tile) for tile in TILES),
        seconds=np.array([[seconds(size, tile) for tile in TILES] for size in sizes]),
    )


def as_autogemm_says(lines: Sequence[Line], tiles: Sequence[Tile], size: Size) -> int:
    """The selection of AutoGEMM's page, word for word."""
    for line in lines:
        if size.m * size.n >= line.least_mn:
            for exact in line.exact:
                rows, columns, unroll = tiles[exact]
                if size.m % rows == size.n % columns == size.k % unroll == 0:
                    return exact
            return line.fallback
    raise AssertionError("the last line is for every size")


EXTENTS = (16, 24, 32, 64, 96, 100, 128, 160, 200, 256, 300, 384, 500, 512, 640, 768, 1000, 1024)


def test_the_tree_chooses_as_the_selection_data_says() -> None:
    table = table_of(EXTENTS)
    fitted = fit_tiles(table, Settings())
    tiles = [TILES[column] for column in fitted.portfolio]
    lines = selection_data(table, fitted.portfolio, tiles)

    assert len(lines) > 1
    assert any(line.exact for line in lines)
    for m in range(1, 1200, 7):
        for size in (Size(m, m, 64, 1), Size(m, 64, 5, 1), Size(128, m, 16, 1)):
            chosen = walk(fitted.tree, features(*size))
            assert chosen == as_autogemm_says(lines, tiles, size)


def test_thresholds_fall_and_the_last_line_is_for_every_size() -> None:
    lines = selection_data(table_of(EXTENTS), (0, 1, 2), TILES)

    starts = [line.least_mn for line in lines]
    assert starts == sorted(starts, reverse=True)
    assert starts[-1] == 0


def test_a_tile_that_fits_comes_before_the_fallback() -> None:
    sizes = (Size(128, 128, 64, 1), Size(120, 136, 64, 1))
    table = TimeTable(
        sizes=sizes,
        kernels=tuple(kernel(tile) for tile in TILES[1:]),
        seconds=np.array([[1.0, 2.0], [3.0, 1.0]]),
    )

    fitted = fit_tiles(table, Settings())

    assert fitted.choose(table).tolist() == [0, 1]


@pytest.mark.parametrize(("swapped", "fits"), [(False, (128, 64)), (True, (64, 128))])
def test_tiles_of_row_major_problems_stand_for_columns_and_rows(
    swapped: bool, fits: tuple[int, int]
) -> None:
    m, n = fits
    sizes = (Size(m, n, 64, 1), Size(m - 1, n + 1, 64, 1))
    table = TimeTable(
        sizes=sizes,
        kernels=(kernel((128, 64, 16)), kernel((16, 16, 8))),
        seconds=np.array([[1.0, 2.0], [9.0, 1.0]]),
    )

    fitted = fit_tiles(table, Settings(swapped=swapped))

    assert fitted.choose(table).tolist() == [0, 1]


def test_a_kernel_without_a_tile_is_a_fallback_only() -> None:
    plain = PortfolioKernel(name="p", family="f", config=Config.of({"x": 1}), source_hash="0")
    table = TimeTable(
        sizes=(Size(8, 8, 8, 1), Size(512, 512, 8, 1)),
        kernels=(plain, kernel((16, 16, 8))),
        seconds=np.array([[1.0, 2.0], [2.0, 1.0]]),
    )

    fitted = fit_tiles(table, Settings())

    assert fitted.choose(table).tolist() == [0, 1]
