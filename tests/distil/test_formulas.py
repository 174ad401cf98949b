from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from mltune.distil import TimeTable, distil
from mltune.distil.fit import Settings
from mltune.distil.formulas import fit_each, fit_formula, fit_formulas
from mltune.kernel.name import Blocking
from mltune.problem import Precision, gemm
from mltune.selector import TimeFormula, Waves
from mltune.selector.formula import MOST_RATE

MakeTable = Callable[..., TimeTable]
SETTINGS = Settings(compute_units=64, multiples=(4, 1, 4))
KNOWN = TimeFormula(
    rows=32, columns=16, depth=8, launch=5 * 10**9, tile=10**6, step=10**8, tile_step=10**5,
    waves=(Waves(64, 5 * 10**8), Waves(256, 2 * 10**8)),
    multiples=(4, 1, 4), odd_step=2 * 10**8, odd_waves=(Waves(128, 3 * 10**8),),
    wave=10**9, units=64, result_multiples=(4, 1), odd_tile=10**7,
)  # fmt: skip


def named(table: TimeTable) -> TimeTable:
    """The same table; the names of its kernels contain their tiles."""
    kernels = [
        replace(kernel, name=f"Cij_MT{4 * 2**number}x{4 * 2**number}x1_PGR1")
        for number, kernel in enumerate(table.kernels)
    ]
    return replace(table, kernels=tuple(kernels))


SPLIT = TimeFormula(  # of a kernel with steps of 8 terms, and 4 work-groups for each tile
    rows=32, columns=16, depth=32, launch=9 * 10**9, tile=10**7, step=10**8, tile_step=10**5,
    waves=(Waves(16, 5 * 10**8), Waves(64, 2 * 10**8)), wave=10**9, units=16,
)  # fmt: skip


def test_work_groups_that_share_a_sum_make_longer_steps_and_smaller_waves(
    make_table: MakeTable,
) -> None:
    table = make_table(200)
    truth = np.array([SPLIT.femtoseconds(*size) / 1e15 for size in table.sizes])
    seconds = table.seconds.copy()
    seconds[:, 2] = truth

    found = fit_formula(
        replace(table, seconds=seconds), 2, Blocking((32, 16), 8, split=4), SETTINGS
    )

    again = np.array([found.femtoseconds(*size) / 1e15 for size in table.sizes])
    assert (found.depth, found.units) == (32, 16)
    assert np.abs(again / truth - 1).max() < 1e-3


def test_a_name_tells_how_many_share_a_sum(make_table: MakeTable) -> None:
    table = make_table(10, kernels=1)
    split = replace(table.kernels[0], name="Cij_MT64x16x8_GSU8_GSUSARR1_PGR1")

    (fitted,) = fit_formulas(replace(table, kernels=(split,)), SETTINGS).formulas

    assert (fitted.depth, fitted.units) == (64, 8)


def test_kernels_that_pack_first_have_a_rate_for_the_elements(make_table: MakeTable) -> None:
    table = make_table(200, kernels=1)
    packing = replace(KNOWN, load_a=4 * 10**8, load_b=2 * 10**8)
    truth = np.array([packing.femtoseconds(*size) / 1e15 for size in table.sizes])
    packs = replace(table.kernels[0], name="Cij_Aik_Bkj_SB_MT32x16x8_WGM1_WPG1x2_WPT32x8")
    table = replace(table, kernels=(packs,), seconds=truth[:, None])

    found = fit_formula(table, 0, Blocking((32, 16), 8, packs=True), SETTINGS)

    again = np.array([found.femtoseconds(*size) / 1e15 for size in table.sizes])
    assert found.load_a == pytest.approx(packing.load_a, rel=0.05)
    assert found.load_b == pytest.approx(packing.load_b, rel=0.05)
    assert np.abs(again / truth - 1).max() < 0.02


@pytest.mark.parametrize("gaps", [False, True])
def test_rates_that_made_the_times_are_found_again(make_table: MakeTable, gaps: bool) -> None:
    table = make_table(200)
    truth = np.array([KNOWN.femtoseconds(*size) / 1e15 for size in table.sizes])
    seconds = table.seconds.copy()
    seconds[:, 2] = np.where(gaps & (np.arange(200) % 2 == 0), np.nan, truth)

    found = fit_formula(replace(table, seconds=seconds), 2, Blocking((32, 16), 8), SETTINGS)

    again = np.array([found.femtoseconds(*size) / 1e15 for size in table.sizes])
    assert found.launch == pytest.approx(KNOWN.launch, rel=0.02)
    assert np.abs(again / truth - 1).max() < 0.05
    assert np.abs(again / truth - 1).mean() < 0.01


HALF = replace(SETTINGS, multiples=(8, 1, 8))
NARROWED = replace(
    KNOWN, multiples=(8, 1, 8), odd_step=10**7, odd_waves=(), narrowed=(32, 0, 16), odd_tile=0
)


@pytest.mark.parametrize("known", [replace(KNOWN, multiples=(8, 1, 8), odd_tile=0), NARROWED])
def test_all_formulas_are_of_the_kind_that_is_nearer(
    make_table: MakeTable, known: TimeFormula
) -> None:
    """Of two kernels, the second has too few times to tell its kind."""
    table = make_table(200, kernels=2)
    truth = np.array([known.femtoseconds(*size) / 1e15 for size in table.sizes])
    few = np.where(np.arange(200) < 4, truth, np.nan)
    blocking = Blocking((32, 16), 8)

    found = fit_each(
        replace(table, seconds=np.stack([truth, few], axis=1)), (0, 1), (blocking, blocking), HALF
    )

    assert [each.narrowed for each in found] == [known.narrowed] * 2
    again = np.array([found[0].femtoseconds(*size) / 1e15 for size in table.sizes])
    assert np.abs(again / truth - 1).max() < 0.1


def test_rows_along_the_sum_count_both_tiles(make_table: MakeTable) -> None:
    settings = replace(HALF, rows_along=(2, 2))

    found = fit_formula(make_table(20), 0, Blocking((32, 16), 8), settings, is_narrowed=True)

    assert found.narrowed == (0, 0, 48)


def test_times_of_half_a_minute_have_formulas(make_table: MakeTable) -> None:
    table = named(make_table(9))
    slow = replace(table, seconds=np.linspace(25, 30, table.seconds.size).reshape(9, -1))

    fitted = fit_formulas(slow, SETTINGS)

    assert fitted.formulas
    assert max(formula.launch for formula in fitted.formulas) == MOST_RATE


@pytest.mark.usefixtures("short_lessons")
def test_formulas_lose_less_than_a_tree_where_waves_matter(make_table: MakeTable) -> None:
    train, test = named(make_table(60)), named(make_table(60, seed=1))

    fitted = fit_formulas(train, SETTINGS)

    distilled = distil(
        train, gemm(Precision.SINGLE), method="formulas", compute_units=64, held_out=0.5
    )
    losses = {row.rule: row.regret.geomean for row in distilled.rows}
    assert losses["formulas"] > losses["tree"]
    assert len(fitted.formulas) == len(fitted.portfolio)
    assert fitted.losses(test).mean() < 0.03


@pytest.mark.usefixtures("short_lessons")
def test_without_tiles_in_the_names_there_is_a_tree(make_table: MakeTable) -> None:
    table = make_table(40)

    assert fit_formulas(table, SETTINGS).formulas == ()
    assert distil(table, gemm(Precision.SINGLE), held_out=0.5).rule in ("taught", "tree")


def test_rows_and_columns_follow_the_operands(make_table: MakeTable) -> None:
    table = make_table(10, kernels=1)
    wide = replace(table.kernels[0], name="Cij_MT64x16x8_PGR1")
    table = replace(table, kernels=(wide,))

    for swapped, shape in ((False, (64, 16)), (True, (16, 64))):
        (fitted,) = fit_formulas(table, replace(SETTINGS, swapped=swapped)).formulas
        assert (fitted.rows, fitted.columns, fitted.depth) == (*shape, 8)


def test_beyond_the_formulas_answers_the_kernel_of_the_largest_size(make_table: MakeTable) -> None:
    table = named(make_table(60))
    fitted = fit_formulas(table, SETTINGS)
    largest = max(range(60), key=lambda row: np.prod(table.sizes[row], dtype=np.float64))

    column = fitted.portfolio[fitted.tree.kernel]  # type: ignore[union-attr]

    ratios = table.log_ratios[largest]
    assert ratios[column] == ratios[list(fitted.portfolio)].min()
