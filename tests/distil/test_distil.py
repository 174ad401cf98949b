from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mltune.distil import RegretRow, TimeTable, distil
from mltune.distil.fit import Settings
from mltune.distil.methods import METHODS, fit_rule
from mltune.distil.regret import folds_of, row_of
from mltune.distil.rules import RULES
from mltune.errors import UsageError
from mltune.problem import Precision, gemm
from mltune.selector import Leaf, Reason
from mltune.selector.json import read_selector, write_selector

MakeTable = Callable[..., TimeTable]
SGEMM = gemm(Precision.SINGLE)
pytestmark = pytest.mark.usefixtures("short_lessons")


def by_rule(rows: tuple[RegretRow, ...]) -> dict[str, RegretRow]:
    return {row.rule: row for row in rows}


def test_the_tree_beats_the_simple_rules_on_held_out_sizes(make_table: MakeTable) -> None:
    rows = by_rule(distil(make_table(48), SGEMM).rows)

    assert set(rows) == {"auto", *RULES}
    assert list(rows)[:5] == ["oracle", "best of portfolio", "teacher", "auto", "taught"]
    assert rows["oracle"].regret.geomean == rows["oracle"].within_5_percent == 1
    assert rows["best of portfolio"].regret.geomean > 0.99
    assert rows["tree"].regret.geomean > 0.9
    assert rows["tree"].regret.geomean > rows["single best kernel"].regret.geomean
    assert rows["tree"].regret.geomean > rows["nearest size"].regret.geomean
    assert rows["single best kernel"].regret.geomean > rows["random pick"].regret.geomean
    for row in rows.values():
        regret = row.regret
        assert regret.sizes == 48
        assert 0 < regret.worst <= regret.p10 <= 1
        assert regret.worst <= regret.geomean <= 1


def test_a_score_is_that_of_the_times_a_rule_took(make_table: MakeTable) -> None:
    table = make_table(11)
    times_longer = np.array([1, 1, 4, 1, 1.25, 1.06, 2, 1.04, 1, 1, 1.5])

    row = row_of("tree", np.log(times_longer), table)

    assert row.regret.geomean == pytest.approx(np.prod(1 / times_longer) ** (1 / 11))
    assert (row.regret.p10, row.regret.worst) == pytest.approx((1 / 2, 1 / 4))
    assert row.regret.worst_size == table.sizes[2].label
    assert row.within_5_percent == 6 / 11


def test_tuned_sizes_get_the_best_kernel_of_the_portfolio(make_table: MakeTable) -> None:
    table = make_table(8, missing=0.2)
    selector = distil(table, SGEMM, conditions=[("device", "none")]).selector

    assert selector.conditions == (("device", "none"),)
    for size, seconds, best in zip(table.sizes, table.seconds, table.best, strict=True):
        choice = selector.choose(*size)
        assert choice.reason is Reason.EXACT
        assert seconds[table.kernels.index(choice.kernel)] <= 1.02 * best


@pytest.mark.parametrize("method", ["auto", *METHODS])
def test_every_method_states_its_own_loss_and_what_it_is(
    make_table: MakeTable, method: str
) -> None:
    distilled = distil(make_table(8), SGEMM, method=method, held_out=0.5)

    assert distilled.selector.regret == by_rule(distilled.rows)[method].regret
    assert dict(distilled.selector.conditions).get("method", "auto") == method


def test_a_method_that_there_is_not_is_refused(make_table: MakeTable) -> None:
    with pytest.raises(
        UsageError, match=r"unknown method 'oak' \(known: auto, autogemm, formulas, "
    ):
        distil(make_table(4), SGEMM, method="oak")


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8])
def test_few_sizes_are_enough(make_table: MakeTable, count: int) -> None:
    distilled = distil(make_table(count), SGEMM)

    assert (distilled.selector.regret is None) == (count == 1)
    assert (distilled.rows == ()) == (count == 1)
    if count == 1:
        assert distilled.selector.tree == Leaf(0)


def test_one_kernel_needs_no_question(make_table: MakeTable) -> None:
    assert distil(make_table(20, kernels=1), SGEMM, held_out=0.5).selector.tree == Leaf(0)


def test_gaps_are_never_chosen_for_a_tuned_size(make_table: MakeTable) -> None:
    table = make_table(16, missing=0.5)
    selector = distil(table, SGEMM, held_out=0.5).selector

    for size, seconds in zip(table.sizes, table.seconds, strict=True):
        assert np.isfinite(seconds[table.kernels.index(selector.choose(*size).kernel)])


def test_held_out_sizes_do_not_shape_the_choice(make_table: MakeTable) -> None:
    table = make_table(24)
    train, test = table.take(range(18)), table.take(range(18, 24))
    scrambled = TimeTable(
        sizes=test.sizes, kernels=test.kernels, seconds=test.seconds[:, ::-1].copy()
    )

    for rule in ("tree", "M*N thresholds", "nearest size", "single best kernel"):
        seen = RULES[rule](train, test, Settings())
        assert np.all(seen >= 0)
        # The same choices with other times; the choice of columns did not depend on the times.
        columns = [
            int(np.argmin(np.abs(row - loss)))
            for row, loss in zip(test.log_ratios, seen, strict=True)
        ]
        again = RULES[rule](train, scrambled, Settings())
        expected = scrambled.log_ratios[np.arange(6), columns]
        assert np.array_equal(again, expected)


def test_losses_are_the_same_for_the_same_seed(make_table: MakeTable) -> None:
    settings = Settings(seed=5)
    first, second = folds_of(make_table(12), held_out=0.5, settings=settings)

    assert set(first.rows) | set(second.rows) == {*range(12)}
    for rule, losses in first.losses(settings).items():
        assert np.array_equal(losses, first.losses(settings)[rule]), rule


def test_what_is_distilled_can_be_written_and_read(make_table: MakeTable, tmp_path: Path) -> None:
    selector = distil(make_table(10), SGEMM, held_out=0.5).selector
    write_selector(selector, tmp_path / "selector.json")

    assert read_selector(tmp_path / "selector.json") == selector


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"tolerance": -0.1}, "distil: tolerance must be from 0.0 to 10.0, got -0.1"),
        ({"tolerance": float("nan")}, "distil: tolerance must be"),
        ({"max_kernels": 0}, "distil: max_kernels must be from 1"),
        ({"max_depth": 101}, "distil: max_depth must be from 0 to 100, got 101"),
        ({"held_out": 0.9}, "distil: held_out must be from 0.01 to 0.5, got 0.9"),
    ],
)
def test_settings_out_of_range_are_refused(
    make_table: MakeTable, fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        distil(make_table(2), SGEMM, **fields)


def test_the_answer_does_not_depend_on_the_number_of_cores(
    make_table: MakeTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = []
    for cores in ("1", "4"):
        monkeypatch.setenv("LOKY_MAX_CPU_COUNT", cores)
        answers.append(distil(make_table(8), SGEMM))

    assert answers[0] == answers[1]


def test_gaps_whose_times_are_expected_do_not_mislead(make_table: MakeTable) -> None:
    whole = make_table(40)
    chosen = whole.log_ratios < 0.3
    gaps = np.where(chosen, whole.seconds, np.nan)
    expected = replace(whole, seconds=gaps, expected=whole.seconds * 1.05)

    losses = fit_rule("tree", expected, Settings()).losses(whole)

    assert chosen.mean() < 0.7
    assert losses.mean() < 0.03
    rows = by_rule(distil(expected, SGEMM, method="tree", held_out=0.5).rows)
    assert not any(rows["tree"].gaps)
