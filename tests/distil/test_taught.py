"""The teacher, the sizes that it labels, and the tree that learns from it."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mltune.distil import Size, TimeTable, distil
from mltune.distil.columns import columns
from mltune.distil.drawn_sizes import MOST_WORK, drawn_sizes
from mltune.distil.fit import Memory, Settings, folds
from mltune.distil.formula_times import log_seconds
from mltune.distil.leaf_losses import with_losses
from mltune.distil.likeness import OWN, SIMILAR, kernel_covariance
from mltune.distil.methods import METHODS, TAUGHT
from mltune.distil.portfolio import cover
from mltune.distil.residual_forest import ResidualForest
from mltune.distil.residuals import Places, Residuals, worst_alignment
from mltune.distil.suggest import APART, MOST_TIMES_LONGER, suggested
from mltune.distil.table import GAP
from mltune.distil.taught import LOSS_SIZES, Lesson, taught
from mltune.distil.teacher import UNMET, Teacher, teach
from mltune.distil.traffic import Traffic
from mltune.errors import UsageError
from mltune.kernel.name import Blocking
from mltune.problem import Precision, gemm
from mltune.selector import Leaf, TimeFormula, Waves, feature_value, features, nodes
from mltune.selector.selector import Split
from mltune.space.config import Config
from tests.distil.conftest import kernel

MakeTable = Callable[..., TimeTable]
SETTINGS = Settings(compute_units=64, max_kernels=6)
FORMULA = TimeFormula(
    rows=64,
    columns=32,
    depth=8,
    launch=1000,
    tile=10,
    step=20,
    tile_step=3,
    waves=(Waves(64, 7), Waves(128, 5)),
    multiples=(4, 1, 4),
    odd_step=11,
    odd_waves=(Waves(64, 2),),
    wave=13,
    units=64,
    result_multiples=(4, 1),
    odd_tile=17,
)


def named(table: TimeTable) -> TimeTable:
    """The same kernels, with names that contain their tiles."""
    tiles = [4 * 2**number for number in range(len(table.kernels))]
    return replace(
        table,
        kernels=tuple(
            replace(kernel(number), name=f"C_MT{tile}x{tile}x8_k{number}")
            for number, tile in enumerate(tiles)
        ),
    )


def as_rows(table: TimeTable) -> np.ndarray:
    return np.array(table.sizes, dtype=np.float64)


def test_many_times_at_once_are_those_of_the_formula(make_table: MakeTable) -> None:
    table = make_table(200)

    expected = [np.log(FORMULA.femtoseconds(*size) * 1e-15) for size in table.sizes]

    np.testing.assert_allclose(log_seconds([FORMULA], as_rows(table))[:, 0], expected)


def test_columns_are_the_features_that_a_tree_asks_for(make_table: MakeTable) -> None:
    table = make_table(100)

    found = columns([FORMULA], as_rows(table))

    assert {"m", "mnk", "rest_4x1x4", "tiles_64x32", "used_64x32_128"} <= found.keys()
    for row, size in enumerate(table.sizes):
        values = features(*size)
        assert {name: int(column[row]) for name, column in found.items()} == {
            name: feature_value(values, name) for name in found
        }


def test_drawn_sizes_are_whole_within_limits_and_the_same_again(make_table: MakeTable) -> None:
    table = make_table(20)

    sizes = drawn_sizes(5000, table, 3)

    assert sizes.shape == (5000, 4)
    assert (sizes == np.floor(sizes)).all()
    assert sizes.min() == 1
    assert sizes.prod(axis=1).max() <= MOST_WORK
    assert (sizes[:, 3] == 1).all()
    far = drawn_sizes(5000, table, 3, near=0.0)
    assert 0.4 < np.mean(far[:, 2] % 8 == 0) < 0.9
    assert 0.3 < np.mean(sizes[:, 2] % 8 == 0) < 0.9
    np.testing.assert_array_equal(sizes, drawn_sizes(5000, table, 3))
    assert (sizes != drawn_sizes(5000, table, 4)).any()


def test_many_drawn_sizes_have_extents_of_a_measured_size(make_table: MakeTable) -> None:
    table = make_table(20)
    pairs = {(size.m, size.k) for size in table.sizes}

    near, far = (drawn_sizes(5000, table, 3, near=share)[:, [0, 2]] for share in (1.0, 0.0))

    share, by_chance = (np.mean([tuple(each) in pairs for each in some]) for some in (near, far))
    assert by_chance < 0.01 < 0.05 < share < 0.2


def test_batches_are_drawn_where_batches_were_measured(make_table: MakeTable) -> None:
    table = make_table(20)
    table = replace(table, sizes=tuple(Size(*size[:3], 16) for size in table.sizes))

    assert drawn_sizes(1000, table, 0)[:, 3].max() > 1


def test_residuals_are_learned_with_a_doubt_that_grows_with_the_distance() -> None:
    rng = np.random.default_rng(0)
    sizes = np.column_stack([np.floor(2 ** rng.uniform(4, 10, (150, 3))), np.ones(150)])
    truth = 0.1 * np.log2(sizes[:, :1] / sizes[:, 1:2]) * np.array([1.0, -1.0])
    noisy = truth + rng.normal(0, 0.02, truth.shape)
    noisy[:40, 1] = np.nan

    learned = Residuals.learn(sizes[:100], noisy[:100], SETTINGS)

    errors = learned.expect(sizes[100:]) - truth[100:]
    assert np.abs(errors).mean() < 0.05
    far = np.array([[2.0**20, 1.0, 1.0, 1.0]])
    assert (learned.doubt(far) > learned.doubt(sizes[50:51])).all()
    assert (learned.doubt(sizes[:40])[:, 1] > learned.doubt(sizes[:40])[:, 0]).mean() > 0.9


def test_a_size_is_as_far_as_the_nearest_one_that_a_kernel_met() -> None:
    """In doublings: 0, 1, 4 x sqrt(3) and sqrt(41); sqrt(3)/4 times that is the axis of Matern."""
    sizes = np.array([[64.0, 64, 64, 1], [1024, 1024, 1024, 1]])
    met = np.array([[True, False], [True, True]])
    learned = Residuals.learn(sizes, np.zeros((2, 2)), SETTINGS)

    _, found = learned.expect_apart(np.array([[64.0, 64, 64, 1], [128, 64, 64, 1]]), met)

    told = [(1 + d) * math.exp(-d) for d in (0.0, math.sqrt(3) / 4, 3.0, math.sqrt(123) / 4)]
    near, doubled, far, less_far = (math.sqrt(1 - each**2) for each in told)
    np.testing.assert_allclose(found, [[near, far], [doubled, less_far]], atol=1e-3)


def test_who_was_timed_near_is_sure_and_others_by_how_much_their_residuals_differ() -> None:
    """The sizes are four doublings of each extent apart; the third kernel follows its formula."""
    sizes = np.array([[64.0, 64, 64, 1], [1024, 1024, 1024, 1]])
    residuals = np.array([[0.3, np.nan, 0.0], [np.nan, 0.3, 0.0]])
    learned = Residuals.learn(sizes, residuals, SETTINGS)

    np.testing.assert_array_equal(learned.timed, np.isfinite(residuals))
    apart = math.sqrt(1 - (4 * math.exp(-3.0)) ** 2)
    scale = 0.3 / math.sqrt(1 + learned.noise)
    expected = [[0.0, scale * apart, 0.0], [scale * apart, 0.0, 0.0]]
    _, found = learned.expect_apart(sizes, learned.timed)
    np.testing.assert_allclose(found * np.sqrt(learned.scale), expected, atol=1e-3)


WHOLE = (64, 64, 64, 1)
NEAR = math.log2(66 / 64)


@pytest.mark.parametrize(
    ("one", "other", "doublings", "exponent"),
    [
        (WHOLE, (128, 32, 64, 1), math.sqrt(2), 0),
        # 66 is no multiple of 4, and 2 divides it once instead of three times or more often.
        (WHOLE, (66, 64, 64, 1), NEAR, 1 / 3 + 2 / 18 + 0.3),
        (WHOLE, (64, 64, 66, 1), NEAR, 1 / 3 + 2 / 18 + 0.3),
        (WHOLE, (64, 66, 64, 1), NEAR, 2 / 18),  # rows are not along N
        (WHOLE, (65, 64, 64, 1), math.log2(65 / 64), 1 / 3 + 3 / 18 + 2 * 0.3),
        ((66, 64, 64, 1), (64, 64, 66, 1), math.sqrt(2) * NEAR, 2 * (1 / 3 + 2 / 18)),
        ((66, 64, 64, 1), (66, 64, 66, 1), NEAR, 1 / 3 + 2 / 18),
        # The cache holds four such products: up to half and from twice as many, all are alike.
        (WHOLE, (64, 64, 64, 2), 0, 0),
        (WHOLE, (64, 64, 64, 4), 0, 0.5),
        ((64, 64, 64, 4), (64, 64, 64, 8), 0, 0.5),
        (WHOLE, (64, 64, 64, 100), 0, 1.0),
    ],
)
def test_residuals_correlate_by_extents_alignment_and_cache(
    one: Sequence[int], other: Sequence[int], doublings: float, exponent: float
) -> None:
    settings = replace(SETTINGS, multiples=(4, 1, 4))
    places = [
        Places.of(np.array([size], dtype=float), settings, 4 * 3 * 64**2) for size in (one, other)
    ]

    distance = math.sqrt(3) / 4 * doublings
    expected = (1 + distance) * math.exp(-distance - exponent)
    assert places[0].covariance(places[1]).item() == pytest.approx(expected)


def test_far_sizes_tell_nothing_of_each_other() -> None:
    sizes = np.array([[1.0, 1, 1, 1], [2**20, 2**20, 2**20, 1]])

    learned = Residuals.learn(sizes, np.array([[0.2, 0.4], [0.4, -0.4]]), SETTINGS)

    known = 1 / (1 + learned.noise)  # share of a residual that is believed
    np.testing.assert_allclose(learned.expect(sizes)[0], np.multiply([0.2, 0.4], known), atol=1e-4)
    np.testing.assert_allclose(learned.scale, np.multiply([0.1, 0.16], known), atol=1e-4)
    doubt = np.sqrt((1 - known) * learned.scale)
    np.testing.assert_allclose(learned.doubt(sizes), [doubt, doubt], atol=1e-4)
    # The sizes are 0.3 and 0 slower for all kernels, which changes no choice.
    assert learned.error == pytest.approx(2 * 0.1**2 + 2 * 0.4**2, abs=1e-4)
    # On the first size one kernel is known, which is as fast as all.
    partly = Residuals.learn(sizes, np.array([[0.2, np.nan], [0.4, -0.4]]), SETTINGS)
    assert partly.error == pytest.approx(2 * 0.4**2, abs=1e-4)


def test_many_sizes_are_predicted_as_each_of_them() -> None:
    rng = np.random.default_rng(4)
    sizes = np.column_stack([np.floor(2 ** rng.uniform(4, 10, (20, 3))), np.ones(20)])
    learned = Residuals.learn(sizes, rng.normal(0, 0.1, (20, 2)), SETTINGS)
    met = rng.random((20, 2)) < 0.5

    many = np.tile(sizes, (60, 1))

    def apart(some: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(learned.expect_apart(some, met)[1])

    for predict in (learned.expect, learned.doubt, apart):
        np.testing.assert_allclose(predict(many), np.tile(predict(sizes), (60, 1)), atol=1e-5)
    assert learned.doubt(sizes[:0]).shape == learned.expect(sizes[:0]).shape == (0, 2)


def test_a_kernel_learns_from_similar_ones_that_were_timed_elsewhere() -> None:
    rng = np.random.default_rng(2)
    sizes = np.column_stack([np.floor(2 ** rng.uniform(4, 10, (200, 3))), np.ones(200)])
    slower = 0.2 * np.log2(sizes[:, 0] / sizes[:, 1])
    noisy = np.outer(slower, [1.0, 1.0, -1.0]) + rng.normal(0, 0.02, (200, 3))
    noisy[:97, 0] = noisy[103:, 2] = np.nan  # timed on three sizes, and on half of them
    alike = np.array([[2.1, 2.0, 1.0], [2.0, 2.1, 1.0], [1.0, 1.0, 2.1]])

    alone = Residuals.learn(sizes[:100], noisy[:100], SETTINGS)
    together = alone.joined(noisy[:100], alike)

    errors = [
        np.abs(each.expect(sizes[100:])[:, 0] - slower[100:]).mean() for each in (alone, together)
    ]
    assert errors[1] < 0.3 * errors[0]
    unrelated = alone.joined(noisy[:100], np.eye(3))
    np.testing.assert_allclose(unrelated.expect(sizes), alone.expect(sizes), atol=1e-3)


def test_kernels_are_as_alike_as_their_configs(make_table: MakeTable) -> None:
    kernel = make_table(2, kernels=1).kernels[0]
    configs: list[dict[str, int | str]] = [
        {"tile": 64, "access": "cast"},
        {"tile": 64, "access": "cast"},
        {"tile": 128, "access": "cast"},
        {"tile": 256, "access": "cast"},
        {"tile": 256, "access": "vload", "split": 2},
    ]

    alike = kernel_covariance([replace(kernel, config=Config.of(each)) for each in configs])

    np.testing.assert_allclose(alike, alike.T)
    np.testing.assert_allclose(np.diag(alike), 1 + SIMILAR + OWN)
    assert (np.linalg.eigvalsh(alike) > 0).all()
    assert alike[0, 1] == 1 + SIMILAR
    assert alike[0, 1] > alike[0, 2] > alike[0, 3] > alike[0, 4] > 1
    other = replace(kernel, family="other", config=Config.of(configs[0]))
    first = replace(kernel, config=Config.of(configs[0]))
    assert kernel_covariance([first, other])[0, 1] < 1 + SIMILAR


def test_residuals_change_where_a_cache_is_full() -> None:
    rng = np.random.default_rng(1)
    sizes = np.column_stack([np.floor(2 ** rng.uniform(6, 13, (300, 3))), np.ones(300)])
    m, n, k, _ = sizes.T
    is_full = m * n + m * k + n * k > 2.0**23
    slower = np.outer(is_full, [0.3, 0.0])
    noisy = slower + rng.normal(0, 0.02, slower.shape)

    learned = Residuals.learn(sizes[:150], noisy[:150], SETTINGS)

    assert learned.capacity == 2.0**23
    assert np.abs(learned.expect(sizes[150:]) - slower[150:]).mean() < 0.02
    assert Residuals.learn(sizes, noisy * 0 + 0.1, SETTINGS).capacity is None


def test_the_matrix_with_the_narrowest_accesses_decides_the_alignment() -> None:
    sizes = np.array([[8.0, 3, 16, 1], [4, 8, 16, 1], [8, 8, 15, 1], [2, 8, 4, 1]])

    np.testing.assert_array_equal(worst_alignment(sizes, (8, 1, 8)), [3, 2, 0, 1])
    np.testing.assert_array_equal(worst_alignment(sizes, (2, 1, 1)), [1, 1, 1, 1])
    np.testing.assert_array_equal(worst_alignment(sizes, (1, 1, 1)), [0, 0, 0, 0])


def test_trees_learn_steps_that_a_smooth_process_does_not() -> None:
    """Up to a number for each size, which changes no choice."""
    rng = np.random.default_rng(3)
    sizes = np.column_stack([np.exp(rng.uniform(3, 8, (400, 3))).round(), np.ones(400)])
    logs = np.log(sizes[:, :2])
    step = np.where(sizes[:, [1]] <= 64, [[0.4, 0.0]], [[0.0, 0.1]])
    residuals = step + rng.normal(0, 0.3, (400, 1))
    formulas = (FORMULA, FORMULA)

    forest = ResidualForest.learn(formulas, sizes[:300], logs[:300], residuals[:300])

    found = forest.expect(sizes[300:], logs[300:])
    off = np.abs((found - step[300:]) @ [1, -1])
    assert np.median(off) < 0.01
    assert off.mean() < 0.05
    assert ResidualForest.learn(formulas, sizes, logs, residuals).expect(sizes, logs).shape == (
        400,
        2,
    )


def test_a_teacher_mixes_the_formulas_by_its_share(make_table: MakeTable) -> None:
    table = make_table(20, kernels=4)
    formulas = FORMULA, replace(FORMULA, launch=10**10)
    logs = log_seconds(formulas, as_rows(table))

    half = Teacher((3, 1), formulas, None, share=0.5, offsets=np.array([0.1, -0.2]))
    own = Teacher((3, 1), formulas, None)

    mixed = logs @ np.array([[0.75, 0.25], [0.25, 0.75]]) + [0.1, -0.2]
    np.testing.assert_allclose(half.log_seconds(as_rows(table)), mixed)
    np.testing.assert_allclose(half.roughly(as_rows(table), logs), mixed)
    np.testing.assert_allclose(own.log_seconds(as_rows(table)), logs)
    assert half.choose(table).tolist() == np.where(mixed[:, 0] <= mixed[:, 1], 3, 1).tolist()
    assert (half.tells, own.tells) == ((), formulas)
    assert np.isinf(own.doubt(as_rows(table))).all()


def test_a_forest_has_its_share_of_the_correction() -> None:
    """The correction is 0.3 for all kernels; the forest adds 0.5 and -0.5, the process ±0.1.

    Half of what the second kernel is unsure by counts, if its own formula tells.
    """
    process: Any = SimpleNamespace(
        expect_apart=lambda sizes, *mets: np.array([[[0.2, 0.4]], [[0.0, 0.8]]])[: 1 + len(mets)],
        timed=np.ones((1, 2), dtype=np.bool_),
        scale=np.array([1.0, 0.01]),
    )
    forest: Any = SimpleNamespace(expect=lambda sizes, logs: np.array([[0.5, -0.5]]))
    sizes = np.array([[64.0, 64, 64, 1]])
    teacher = Teacher((0, 1), (FORMULA, FORMULA), process, forest=forest)

    own = teacher.log_seconds(sizes) - log_seconds(teacher.formulas, sizes)
    half = replace(teacher, share=0.5).log_seconds(sizes) - log_seconds(teacher.formulas, sizes)

    second = 0.3 - 0.75 * 0.5 + 0.025 + 0.04
    np.testing.assert_allclose(own, [[0.3 + 0.75 * 0.5 - 0.25 * 0.1, second]])
    np.testing.assert_allclose(half, [[0.3 + 0.5 * 0.5 - 0.5 * 0.1, 0.3 - 0.25 + 0.05]])


def test_a_prediction_and_its_doubts_share_the_covariances(
    make_table: MakeTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They take most of the time of a prediction."""
    table = named(make_table(20))
    teacher = teach(replace(table, met=np.isfinite(table.seconds)), SETTINGS)
    covariance, calls = Places.covariance, []

    def counted(mine: Places, others: Places) -> NDArray[np.float64]:
        calls.append(len(mine.kinds))
        return covariance(mine, others)

    monkeypatch.setattr(Places, "covariance", counted)
    teacher.log_seconds(np.array(table.sizes, dtype=np.float64))

    assert teacher.share == 1
    assert calls == [20]


def test_no_prediction_is_below_the_time_to_read_a_large_operand_again() -> None:
    """A kernel with strips of one tile walks it 256 times, one with strips of 256 once."""
    sizes = np.array([[64.0, 64, 64, 1], [2**15, 2**15, 2**14, 1]])
    kernels = [Blocking(sides=(256, 128), depth=64, strip=strip) for strip in (1, 256)]
    traffic = Traffic(Memory(1e12, 50e6, 2), kernels, compute_units=16, swapped=False)
    formulas = FORMULA, FORMULA
    teacher = Teacher((0, 1), formulas, None, traffic=traffic)

    logs = log_seconds(formulas, sizes)
    found = teacher.log_seconds(sizes)

    # 256 times m * k, once n * k and m * n, of two bytes, with 90 % of the bandwidth.
    least = math.log((256 * 2**29 + 2**29 + 2**30) * 2 / 0.9e12)
    assert least > logs[1, 0]
    np.testing.assert_allclose(found, [logs[0], [least, logs[1, 1]]])
    np.testing.assert_allclose(teacher.roughly(sizes, logs), found)


def test_a_teacher_knows_times_of_sizes_that_it_never_saw(make_table: MakeTable) -> None:
    table = named(make_table(160))
    train, test = next(folds(len(table.sizes), 4, 0))

    losses = teach(table.take(train), SETTINGS).losses(table.take(test))

    assert np.exp(-losses.mean()) > 0.97


def test_a_portfolio_is_chosen_for_sizes_beyond_the_measured_ones(make_table: MakeTable) -> None:
    few = replace(SETTINGS, max_kernels=3, tolerance=0.0)
    lost: list[float] = []
    lost_by_measured: list[float] = []
    for seed in range(16):
        table = named(make_table(400, seed=seed))
        order = np.random.default_rng(seed).permutation(400).tolist()
        train, test = table.take(order[:12]), table.take(order[12:])
        by_measured = cover(train, tolerance=0.0, max_kernels=3)
        for portfolio, losses in (
            (teach(train, few).portfolio, lost),
            (by_measured, lost_by_measured),
        ):
            losses.append(float(test.log_ratios[:, list(portfolio)].min(axis=1).mean()))

    assert np.mean(lost) < 0.9 * np.mean(lost_by_measured)


def test_formulas_that_are_wrong_count_less_than_their_mean(make_table: MakeTable) -> None:
    table = named(make_table(100))
    speeds = np.linspace(1.0, 2.0, len(table.kernels))
    noise = np.random.default_rng(0).normal(0, 0.3, (100, 1))
    told = replace(table, seconds=table.seconds[:, :1] * np.exp(noise) * speeds)

    assert teach(table, SETTINGS).share == 1.0
    assert teach(told, replace(SETTINGS, tolerance=0.0)).choose(told).tolist() == [0] * 100


def test_sizes_that_cost_much_are_kept_and_stand_for_all(make_table: MakeTable) -> None:
    table = named(make_table(60))
    teacher, sizes = teach(table, SETTINGS), drawn_sizes(20_000, table, 0)

    every, some = Lesson.of(teacher, sizes), Lesson.of(teacher, sizes, 5_000)

    assert len(some.costs) == pytest.approx(5_000, rel=0.1)
    assert some.counts.sum() == pytest.approx(20_000, rel=0.1)
    mean = every.costs.mean(axis=0)
    found = (some.costs * some.counts[:, None]).sum(axis=0) / some.counts.sum()
    np.testing.assert_allclose(found, mean, rtol=0.1)


@pytest.mark.long
def test_a_tree_is_nearly_as_good_as_its_teacher(make_table: MakeTable) -> None:
    table = named(make_table(60))

    student = taught(table, SETTINGS)

    assert student.loss < 0.003
    assert student.low > 0.9
    asked = {node.feature for node, _ in nodes(student.fitted.tree) if isinstance(node, Split)}
    assert any(name.startswith(("tiles_", "used_")) for name in asked)
    # The loss that it states is the loss on new sizes.
    drawn = drawn_sizes(500, table, SETTINGS.seed + 1, near=0.0)
    assert len(drawn) < LOSS_SIZES
    logs = student.teacher.log_seconds(drawn)
    sizes = tuple(dict.fromkeys(Size(*map(int, size)) for size in drawn))
    judged = TimeTable(
        sizes=sizes,
        kernels=tuple(table.kernels[column] for column in student.fitted.portfolio),
        seconds=np.exp(logs)[[drawn.tolist().index(list(map(float, s))) for s in sizes]],
    )
    own = replace(student.fitted, portfolio=tuple(range(len(judged.kernels))))
    assert own.losses(judged).mean() < 0.006


def test_a_single_kernel_needs_no_question(make_table: MakeTable) -> None:
    student = taught(make_table(20, kernels=1), SETTINGS)

    assert (student.loss, len(list(nodes(student.fitted.tree)))) == (0.0, 1)


@pytest.mark.long
def test_it_ships_where_a_method_is_not_asked_for(make_table: MakeTable) -> None:
    table = named(make_table(40))

    distilled = distil(table, gemm(Precision.SINGLE), compute_units=64, held_out=0.5)

    assert distilled.rule == TAUGHT
    assert distilled.selector.formulas == ()
    settings = replace(SETTINGS, compute_units=64, multiples=(4, 1, 4))
    teacher = teach(table, settings)
    kernels = tuple(table.kernels[column] for column in teacher.portfolio)
    assert distilled.selector.portfolio[: len(kernels)] == kernels
    assert distilled.selector.teacher == teacher.tells


@pytest.mark.usefixtures("short_lessons")
def test_formulas_that_are_asked_for_have_no_teacher_where_a_taught_tree_is_best(
    make_table: MakeTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = import_module("mltune.distil.distil")
    monkeypatch.setattr(module, "best_rule", lambda *_: TAUGHT)
    monkeypatch.setattr(module, "MOST_LOST", 1.0)
    monkeypatch.setattr(Teacher, "tells", property(lambda teacher: teacher.formulas))
    distilled = distil(
        named(make_table(40)), gemm(Precision.SINGLE), compute_units=64, method="formulas"
    )

    assert distilled.selector.formulas
    assert distilled.selector.teacher == ()


@pytest.mark.usefixtures("short_lessons")
def test_some_method_ships_where_times_are_missing(make_table: MakeTable) -> None:
    table = named(make_table(40, missing=0.3))

    distilled = distil(table, gemm(Precision.SINGLE), compute_units=64, held_out=0.5)

    assert distilled.rule in METHODS


@pytest.mark.usefixtures("short_lessons")
def test_a_tree_far_from_its_teacher_ships_only_where_it_is_ahead(
    make_table: MakeTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_module("mltune.distil.distil"), "MOST_LOST", -1.0)
    table = named(make_table(40))

    for seed in (0, 1):
        found = distil(table, gemm(Precision.SINGLE), compute_units=64, held_out=0.5, seed=seed)
        speeds = {row.rule: row.regret.geomean for row in found.rows}
        is_ahead = speeds[TAUGHT] > max(speeds["formulas"], speeds["tree"])
        assert (found.rule == TAUGHT) == is_ahead


@pytest.mark.usefixtures("short_lessons")
def test_leaves_state_what_they_lose(make_table: MakeTable) -> None:
    table = named(make_table(40))

    distilled = distil(
        table, gemm(Precision.SINGLE), method=TAUGHT, compute_units=64, held_out=0.5
    )

    stated = [node.loss for node, _ in nodes(distilled.selector.tree) if isinstance(node, Leaf)]
    known = [loss for loss in stated if loss is not None]
    assert len(known) == len(stated)
    assert sum(loss.sizes for loss in known) == len(table.sizes)
    assert min(loss.worst for loss in known if loss.worst is not None) == pytest.approx(
        next(row.regret.worst for row in distilled.rows if row.rule == TAUGHT)
    )
    assert {loss.geomean is None for loss in known if not loss.sizes} == {True}
    assert np.mean([loss.expected for loss in known if loss.expected is not None]) > 0.9


def test_a_leaf_states_a_measured_loss_that_is_larger_than_a_gap() -> None:
    sizes = [Size(64, 64, 64, 1), Size(64, 64, 128, 1), Size(64, 64, 256, 1)]

    leaf = with_losses(Leaf(0), sizes, [0.0, math.log(20), GAP], None)

    assert isinstance(leaf, Leaf)
    assert leaf.loss is not None
    assert leaf.loss.sizes == 2
    assert leaf.loss.worst == pytest.approx(0.05)


def test_a_leaf_states_the_losses_of_the_sizes_that_reach_it() -> None:
    sizes = [Size(64, 64, k, 1) for k in (128, 256, 512)]
    asked = columns([], np.array(sizes, dtype=np.float64))
    costs = np.log([[1.0, 9.0], [4.0, 9.0], [9.0, 2.0]])
    check = Lesson(asked, costs, np.ones(3), None)

    split = with_losses(
        Split("k", 256, Leaf(0), Leaf(1)), sizes, np.log([1.0, 16.0, 8.0]).tolist(), check
    )

    low, high = (node.loss for node, _ in nodes(split) if isinstance(node, Leaf))
    assert low is not None
    assert high is not None
    assert (low.geomean, low.worst, low.expected) == pytest.approx((1 / 4, 1 / 16, 1 / 2))
    assert (high.geomean, high.worst, high.expected) == pytest.approx((1 / 8, 1 / 8, 1 / 2))


def test_suggested_sizes_are_far_from_measured_ones_and_each_other(make_table: MakeTable) -> None:
    table = named(make_table(60))

    sizes = suggested(teach(table, SETTINGS), table, 5, 0)

    assert len(set(sizes)) == 5
    places = np.log2(np.array([*table.sizes, *sizes]))
    for number in range(60, 65):
        assert np.abs(places[:number] - places[number]).sum(axis=1).min() >= APART


def test_a_kernel_that_is_likely_faster_but_doubted_is_worth_a_measurement(
    make_table: MakeTable,
) -> None:
    """With more than 256 terms the second kernel is likely 0.1 faster, and counts as slower."""

    def logs(sizes: NDArray[np.float64], of_long: float) -> NDArray[np.float64]:
        return np.column_stack((np.zeros(len(sizes)), np.where(sizes[:, 2] > 256, of_long, 0.3)))

    teacher: Any = SimpleNamespace(
        log_seconds=lambda sizes: logs(sizes, 0.3) - 20,
        likely=lambda sizes: logs(sizes, -0.1) - 20,
        doubt=lambda sizes: np.full((len(sizes), 2), 1e-3),
    )

    sizes = suggested(teacher, make_table(20), 5, 0)

    assert len(sizes) == 5
    assert all(size.k > 256 for size in sizes)


def test_suggested_sizes_do_not_take_much_longer_than_measured_ones(
    make_table: MakeTable,
) -> None:
    whole = named(make_table(60))
    work = np.prod(np.array(whole.sizes, dtype=np.float64), axis=1)
    table = whole.take(np.argsort(work)[:20].tolist())
    teacher = teach(table, SETTINGS)

    sizes = suggested(teacher, table, 5, 0)

    expected = np.exp(teacher.log_seconds(np.array(sizes, dtype=np.float64))).min(axis=1)
    assert len(sizes) == 5
    assert expected.max() <= MOST_TIMES_LONGER * table.seconds.min(axis=1).max()


def test_a_kernel_is_not_chosen_far_from_the_sizes_of_its_runs(make_table: MakeTable) -> None:
    """Kernel 4, of another run, seems to be the fastest everywhere by times of small sizes."""
    table = named(make_table(120, kernels=5))
    small = np.array([max(size[:3]) <= 256 for size in table.sizes])
    times = np.array(table.seconds)
    times[:, 4] = np.where(small, 0.9 * times[:, :4].min(axis=1), np.nan)
    alone = replace(table, seconds=times)
    met = np.ones(times.shape, dtype=np.bool_)
    met[~small, 4] = False

    trusting, doubting = teach(alone, SETTINGS), teach(replace(alone, met=met), SETTINGS)

    sizes = np.array(table.sizes, dtype=np.float64)
    far = sizes[sizes[:, :3].min(axis=1) >= 512]
    added = doubting.log_seconds(far) - trusting.log_seconds(far)
    column = doubting.portfolio.index(4)
    assert len(far) > 3
    assert np.all(added[:, column] > 0.5 * UNMET)
    assert np.all(np.delete(added, column, axis=1) < 0.01)
    assert np.all(doubting.log_seconds(sizes[small]) <= trusting.log_seconds(sizes[small]) + 0.01)
    assert np.all(trusting.log_seconds(far).argmin(axis=1) == trusting.portfolio.index(4))
    assert not np.any(doubting.log_seconds(far).argmin(axis=1) == column)


def test_met_goes_with_sizes_and_kernels(make_table: MakeTable) -> None:
    table = make_table(4, kernels=3)
    met = np.arange(12).reshape(4, 3) % 2 == 0

    part = replace(table, met=met).take([2, 0]).only([1, 2])

    assert part.met is not None
    assert np.array_equal(part.met, met[[2, 0]][:, [1, 2]])
    with pytest.raises(UsageError, match="met must have the shape of the times"):
        replace(table, met=met[:2])
