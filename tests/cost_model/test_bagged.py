"""Boosted trees that learn from few rows."""

import numpy as np

from mltune.cost_model.bagged import boosted


def test_rows_without_the_parameters_of_another_family_are_learned_from() -> None:
    rng = np.random.default_rng(0)
    mine, target = rng.normal(size=(30, 2)), rng.normal(size=30)
    others = np.full((30, 1), np.nan)  # as if the draw had missed all kernels of a family

    predict = boosted(np.hstack((mine, others)), target, trees=5)
    alone = boosted(mine, target, trees=5)

    asked = rng.normal(size=(4, 3))
    assert np.array_equal(predict(asked), alone(asked[:, :2]))
