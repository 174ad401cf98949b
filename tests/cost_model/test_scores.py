import numpy as np
import pytest

from mltune.cost_model.scores import score

GROUPS = np.array([0, 0, 0, 0, 0, 0, 1, 1])
MEASURED = np.log([1.0, 2, 3, 4, 5, 6, 10, 20])


def test_a_perfect_prediction_scores_perfectly() -> None:
    scores = score(GROUPS, MEASURED, MEASURED)

    assert (scores.sizes, scores.rows) == (2, 8)
    assert (scores.rmse_log, scores.top_1, scores.top_5) == (0, 1, 1)
    assert scores.spearman == pytest.approx(1)


def test_a_reversed_prediction_shows_what_it_costs() -> None:
    scores = score(GROUPS, -MEASURED, MEASURED)

    assert scores.spearman == pytest.approx(-1)
    assert scores.rmse_log == pytest.approx(2 * np.mean(MEASURED**2) ** 0.5)
    assert scores.top_1 == pytest.approx((1 / 6 * 1 / 2) ** 0.5)
    assert scores.top_5 == pytest.approx((1 / 2 * 1) ** 0.5)


def test_equal_predictions_have_equal_ranks() -> None:
    scores = score(GROUPS, np.array([1.0, 1, 2, 2, 3, 3, 1, 2]), MEASURED)

    # scipy.stats.spearmanr([1, 1, 2, 2, 3, 3], range(6)) is 0.956183, and 1 for the other size.
    assert scores.spearman == pytest.approx((0.9561828874675148 + 1) / 2)


def test_a_constant_prediction_has_no_correlation() -> None:
    assert score(GROUPS, np.zeros(8), MEASURED).spearman == 0
    assert score(np.arange(8), np.zeros(8), MEASURED).spearman == 0
