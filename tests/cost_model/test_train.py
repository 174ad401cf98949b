import os
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mltune.cost_model import BoostedModel, OtherDevice, fit
from mltune.cost_model.scores import Scores, score
from mltune.cost_model.train import _train
from mltune.device_info import DeviceInfo
from mltune.errors import NoCorrectConfigError
from mltune.measurement.measurement import Measurement

MakeRows = Callable[..., list[Measurement]]


@pytest.fixture(scope="module")
def model(make_rows: MakeRows, device: DeviceInfo) -> BoostedModel:
    return fit(make_rows(30, 6, failing=0.1), device, folds=3)


@pytest.mark.long
def test_sizes_it_has_not_seen_are_predicted_and_ranked(model: BoostedModel) -> None:
    assert model.problem_types == ("sgemm_nn",)
    assert model.scores is not None
    assert model.scores.sizes == 6
    assert model.scores.rows == model.rows < 180
    assert model.scores.spearman > 0.8
    assert model.scores.top_5 > 0.9
    assert model.scores.rmse_log < 0.4


@pytest.mark.long
def test_scores_are_of_sizes_that_the_trees_have_not_seen(
    make_rows: MakeRows, device: DeviceInfo
) -> None:
    rng = np.random.default_rng(0)
    noise = [replace(row, seconds=(float(rng.uniform(1, 9)),)) for row in make_rows(20, 4)]

    scores = fit(noise, device, folds=2).scores

    assert scores is not None
    assert abs(scores.spearman) < 0.3


@pytest.mark.parametrize(("configs", "sizes"), [(1, 1), (1, 3), (5, 1), (3, 2)])
def test_very_little_data_is_enough(
    make_rows: MakeRows, device: DeviceInfo, configs: int, sizes: int
) -> None:
    rows = make_rows(configs, sizes)
    model = fit(rows, device)
    truth = np.log([row.median or 0 for row in rows])
    guess = [float(model.predict(row.problem, [row.config])[0]) for row in rows]

    assert (model.scores is None) == (sizes == 1)
    assert np.abs(truth - guess).max() < 1


def test_the_same_measurements_give_the_same_model(
    make_rows: MakeRows, device: DeviceInfo
) -> None:
    rows = make_rows(10, 3)
    first, second = (fit(rows, device, folds=0) for _ in range(2))

    assert first.scores is None
    for name, array in first.forest.arrays().items():
        assert np.array_equal(array, second.forest.arrays()[name])


@pytest.mark.skipif(sys.platform != "linux", reason="processes are copied on Linux only")
def test_models_are_trained_side_by_side_on_two_cores(
    make_rows: MakeRows, device: DeviceInfo, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, steps = make_rows(20, 4), []
    monkeypatch.setattr("mltune.side_by_side.usable_cores", lambda: (0,))
    alone = fit(rows, device)

    def train(*args: Any) -> Any:
        assert os.getpid() != us
        return _train(*args)

    us = os.getpid()
    monkeypatch.setattr("mltune.side_by_side.usable_cores", lambda: (0, 1))
    monkeypatch.setattr("mltune.cost_model.train._train", train)
    model = fit(rows, device, on_step=lambda *step: steps.append(step))

    assert model.scores == alone.scores
    assert model.forest.value.tobytes() == alone.forest.value.tobytes()
    assert steps == [(done, 5) for done in range(6)]


def test_without_any_success_there_is_no_model(make_rows: MakeRows, device: DeviceInfo) -> None:
    with pytest.raises(NoCorrectConfigError, match="none of 4 measurements has succeeded"):
        fit(make_rows(2, 2, failing=1.0), device)
    with pytest.raises(NoCorrectConfigError, match="none of 0 measurements has succeeded"):
        fit([], device)


def scored(model: BoostedModel, rows: list[Measurement]) -> Scores:
    sizes = np.unique([row.problem.label for row in rows], return_inverse=True)[1]
    predicted = [float(model.predict(row.problem, [row.config])[0]) for row in rows]
    return score(sizes, np.array(predicted), np.log([row.median or 0 for row in rows]))


@pytest.mark.long
def test_rows_of_another_device_teach_what_few_rows_cannot(
    make_rows: MakeRows, device: DeviceInfo
) -> None:
    few, many, unseen = make_rows(4, 2), make_rows(40, 8, seed=1), make_rows(30, 4, seed=2)
    slower = [
        replace(row, device="slower", seconds=tuple(3 * second for second in row.seconds))
        for row in many
    ]
    other = OtherDevice(replace(device, name="slower", clock_mhz=500), slower)
    alone = scored(fit(few, device, folds=0), unseen)
    helped = scored(fit(few, device, others=(other,), folds=0), unseen)

    assert helped.spearman > alone.spearman
    assert helped.top_1 > alone.top_1
    assert helped.rmse_log < alone.rmse_log


def test_scores_and_rows_are_those_of_the_device_alone(
    make_rows: MakeRows, device: DeviceInfo
) -> None:
    rows = make_rows(8, 3)
    other = OtherDevice(replace(device, name="other"), make_rows(20, 5, seed=1))
    model = fit(rows, device, others=(other,), folds=2)

    assert model.device == device
    assert model.rows == len(rows)
    assert model.scores is not None
    assert (model.scores.sizes, model.scores.rows) == (3, len(rows))


def test_another_device_without_any_success_teaches_nothing(
    make_rows: MakeRows, device: DeviceInfo
) -> None:
    other = OtherDevice(replace(device, name="other"), make_rows(2, 2, failing=1.0))

    with pytest.raises(NoCorrectConfigError, match="none of 4 measurements has succeeded"):
        fit(make_rows(8, 3), device, others=(other,))


def test_trees_ask_no_question_twice(model: BoostedModel, device: DeviceInfo) -> None:
    names = np.array(model.encoder.names(device))
    asked = set(names[model.forest.feature[model.forest.feature >= 0]])

    assert "depth_u" in names
    assert not asked & {
        "log2 depth_u",
        "compute units",
        "complex",
    }  # the same order, and constants
    assert len(asked) > 5
