import warnings
from typing import Any

import numpy as np
import pytest

from mltune.cost_model.forest import Forest
from mltune.cost_model.train import _boost
from mltune.errors import UsageError


def test_it_predicts_what_scikit_learn_does() -> None:
    from sklearn.ensemble import HistGradientBoostingRegressor

    rng = np.random.default_rng(0)
    rows = rng.normal(size=(600, 6)).round(1)
    rows[rng.random(rows.shape) < 0.1] = np.nan
    target = np.nan_to_num(rows[:, 0] * rows[:, 1]) + np.isnan(rows[:, 2])
    grown: list[Any] = []
    original = HistGradientBoostingRegressor.fit

    def spy(self: Any, *args: Any, **kwargs: Any) -> Any:
        grown.append(self)
        return original(self, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(HistGradientBoostingRegressor, "fit", spy)
        forest = _boost(rows, target, seed=0)
    # New rows, training rows, and rows with values equal to its thresholds.
    finite = forest.threshold[np.isfinite(forest.threshold)]
    on_thresholds = rng.choice(finite, size=(3000, 6))
    asked = np.concatenate([rng.normal(size=(3000, 6)), rows, on_thresholds])
    asked[rng.random(asked.shape) < 0.05] = np.nan

    assert np.abs(forest.predict(asked) - grown[0].predict(asked)).max() < 1e-9


@pytest.mark.parametrize("count", [1, 2, 3, 10])
def test_few_rows_are_enough(count: int) -> None:
    rows = np.arange(count, dtype=float)[:, None].repeat(2, axis=1)
    rows[:, 1] = np.nan  # a feature that is missing in all rows
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        forest = _boost(rows, np.arange(count, dtype=float), seed=0)

    assert np.isfinite(forest.predict(rows)).all()


def arrays(**changed: Any) -> dict[str, Any]:
    """One tree: is column 0 at most 0.5? 1 if so, else 2."""
    values = {
        "roots": np.array([0], np.int32),
        "feature": np.array([0, -1, -1], np.int32),
        "threshold": np.array([0.5, 0, 0]),
        "low": np.array([1, 1, 2], np.int32),
        "high": np.array([2, 1, 2], np.int32),
        "nan_goes_low": np.array([True, False, False]),
        "value": np.array([0.0, 1, 2]),
        "baseline": np.array([10.0]),
    }
    return {**values, **changed}


def test_a_walk_ends_at_the_leaf_of_the_answers() -> None:
    forest = Forest(**arrays())

    assert forest.predict(np.array([[0.5], [0.6], [np.nan]])).tolist() == [11, 12, 11]
    assert forest.features == 1
    assert forest.predict(np.empty((0, 1))).shape == (0,)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"low": np.array([0, 1, 2], np.int32)}, "a child does not stand after its parent"),
        ({"high": np.array([3, 1, 2], np.int32)}, "a child does not stand after its parent"),
        ({"high": np.array([-1, 1, 2], np.int32)}, "a child does not stand after its parent"),
        ({"low": np.array([1, 2, 2], np.int32)}, "a child does not stand after its parent"),
        ({"roots": np.array([3], np.int32)}, "a root is not among the nodes"),
        ({"roots": np.array([-1], np.int32)}, "a root is not among the nodes"),
        ({"roots": np.array([], np.int32)}, "there is no tree"),
        ({"feature": np.array([-2, -1, -1], np.int32)}, "negative feature"),
        ({"feature": np.array([0, -1], np.int32)}, "'threshold' has not one entry per node"),
        ({"value": np.array([0, np.nan, 1])}, "a value or a threshold is no number"),
        ({"threshold": np.array([np.nan, 0, 0])}, "a value or a threshold is no number"),
        ({"baseline": np.array([np.inf])}, "'baseline' must be one finite number"),
        ({"baseline": np.array([])}, "'baseline' must be one finite number"),
        ({"value": np.array([[0.0, 1, 2]])}, "'value' must be a row of float64"),
        ({"low": np.array([1.0, 1, 2])}, "'low' must be a row of int32, got float64"),
    ],
)
def test_arrays_that_are_no_trees_are_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Forest(**arrays(**changed))
