"""Which rule ships if no method is named."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from mltune.distil import RegretRow, TimeTable, distil
from mltune.distil.best import beats_single, best_rule
from mltune.distil.methods import SINGLE, TAUGHT
from mltune.distil.rules import TEACHER
from mltune.distil.table import GAP
from mltune.problem import Precision, gemm
from mltune.selector import Leaf, Regret

MakeTable = Callable[..., TimeTable]
SGEMM = gemm(Precision.SINGLE)


def row(rule: str, geomean: float, worst: float, *more: float) -> RegretRow:
    regret = Regret(sizes=9, geomean=geomean, p10=worst, worst=worst, worst_size="1x1x1")
    losses = (-math.log(worst), *more)
    return RegretRow(rule=rule, regret=regret, within_5_percent=0.5, losses=losses)


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
    known = {
        TAUGHT: row(TAUGHT, 0.5, 0.5),
        "formulas": row("formulas", *formulas),
        "tree": row("tree", *tree),
        SINGLE: row(SINGLE, 0.8, 0.5),
    }

    assert best_rule(known) == ships
    assert best_rule({}) == SINGLE


@pytest.mark.parametrize(("teacher", "ships"), [((0.9, 0.5), TAUGHT), ((0.9, 0.4), SINGLE)])
def test_a_taught_tree_ships_if_its_teacher_beats_a_single_kernel(
    teacher: tuple[float, float], ships: str
) -> None:
    known = {
        TEACHER: row(TEACHER, *teacher),
        TAUGHT: row(TAUGHT, 0.95, 0.6),
        "formulas": row("formulas", 0.7, 0.6),
        "tree": row("tree", 0.7, 0.6),
        SINGLE: row(SINGLE, 0.8, 0.5),
    }

    assert best_rule(known) == ships


@pytest.mark.parametrize(("taught", "ships"), [(0.948, TAUGHT), (0.946, "formulas")])
def test_a_taught_tree_ships_if_it_is_nearly_the_best(taught: float, ships: str) -> None:
    known = {
        TAUGHT: row(TAUGHT, taught, 0.6),
        "formulas": row("formulas", 0.95, 0.6),
        "tree": row("tree", 0.9, 0.6),
        SINGLE: row(SINGLE, 0.8, 0.5),
    }

    assert best_rule(known) == ships
    assert best_rule(known, {TAUGHT}) == "formulas"


@pytest.mark.parametrize(
    ("lost", "ships"), [((0.01, 0.01, 0.01, 0.01), "formulas"), ((0.2, -0.18, 0.1, -0.08), TAUGHT)]
)
def test_what_a_taught_tree_loses_by_chance_does_not_count(
    lost: tuple[float, ...], ships: str
) -> None:
    known = {
        TAUGHT: replace(row(TAUGHT, 0.94, 0.6), losses=tuple(0.2 + each for each in lost)),
        "formulas": replace(row("formulas", 0.95, 0.6), losses=(0.2,) * len(lost)),
        "tree": replace(row("tree", 0.9, 0.6), losses=(0.2,) * len(lost)),
        SINGLE: replace(row(SINGLE, 0.8, 0.5), losses=(1.0,) * len(lost)),
    }

    assert best_rule(known) == ships


def test_a_size_without_a_time_decides_nothing() -> None:
    known = {"tree": row("tree", 0.95, 0.6, GAP), SINGLE: row(SINGLE, 0.8, 0.5, 0.2)}
    only = {"tree": replace(known["tree"], losses=(GAP, GAP)), SINGLE: known[SINGLE]}

    assert known["tree"].gaps == (False, True)
    assert beats_single(known, "tree")
    assert beats_single(only, "tree")


@pytest.mark.usefixtures("short_lessons")
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
