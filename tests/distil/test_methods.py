from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from mltune.distil import TimeTable, distil
from mltune.distil.fit import Settings
from mltune.distil.methods import SINGLE, best_rule, fit_single
from mltune.problem import Precision, gemm
from mltune.selector import Leaf, Regret

MakeTable = Callable[..., TimeTable]
SGEMM = gemm(Precision.SINGLE)


def regret(geomean: float, worst: float) -> Regret:
    return Regret(sizes=9, geomean=geomean, p10=worst, worst=worst, worst_size="1x1x1")


@pytest.mark.parametrize(
    ("formulas", "tree", "ships"),
    [
        ((0.95, 0.6), (0.90, 0.6), "formulas"),
        ((0.90, 0.6), (0.95, 0.6), "tree"),
        ((0.90, 0.5), (0.95, 0.4), "formulas"),  # the tree is worse at its worst size
        ((0.90, 0.4), (0.95, 0.4), SINGLE),
        ((0.80, 0.9), (0.80, 0.9), SINGLE),  # not better in the mean
    ],
)
def test_a_rule_ships_if_it_beats_a_single_kernel_in_the_mean_and_at_the_worst(
    formulas: tuple[float, float], tree: tuple[float, float], ships: str
) -> None:
    known = {"formulas": regret(*formulas), "tree": regret(*tree), SINGLE: regret(0.8, 0.5)}

    assert best_rule(known) == ships
    assert best_rule({}) == SINGLE


def test_where_times_are_noise_a_single_kernel_ships_and_states_its_own_loss(
    make_table: MakeTable,
) -> None:
    rng = np.random.default_rng(1)
    table = make_table(60)
    noise = np.exp(rng.normal(0, 0.3, table.seconds.shape))
    table = replace(table, seconds=noise)

    distilled = distil(table, SGEMM)

    by_rule = {row.rule: row for row in distilled.rows}
    assert distilled.rule == SINGLE
    assert distilled.selector.tree == Leaf(0)
    assert distilled.selector.formulas == ()
    assert distilled.selector.regret == by_rule[SINGLE].regret == by_rule["auto"].regret


def test_a_single_kernel_is_right_on_as_many_sizes_as_any(make_table: MakeTable) -> None:
    table = make_table(20)
    seconds = table.seconds.copy()
    seconds[:, 3] = table.best / 5
    fast = replace(table, seconds=seconds)
    seconds[0, 3] = np.nan

    assert fit_single(fast, Settings()).portfolio == (3,)
    assert fit_single(replace(table, seconds=seconds), Settings()).portfolio != (3,)
