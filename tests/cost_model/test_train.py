from collections.abc import Callable

import numpy as np
import pytest

from mltune.cost_model import fit
from mltune.device_info import DeviceInfo
from mltune.errors import NoCorrectConfigError
from mltune.record.measurement import Measurement

MakeRows = Callable[..., list[Measurement]]


def test_sizes_it_has_not_seen_are_predicted_and_ranked(
    make_rows: MakeRows, device: DeviceInfo
) -> None:
    model = fit(make_rows(40, 8, failing=0.1), device)

    assert model.problem_types == ("sgemm_nn",)
    assert model.scores is not None
    assert model.scores.sizes == 8
    assert model.scores.rows == model.rows < 320
    assert model.scores.spearman > 0.8
    assert model.scores.top_5 > 0.9
    assert model.scores.rmse_log < 0.4


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


def test_without_any_success_there_is_no_model(make_rows: MakeRows, device: DeviceInfo) -> None:
    with pytest.raises(NoCorrectConfigError, match="none of 4 measurements succeeded"):
        fit(make_rows(2, 2, failing=1.0), device)
    with pytest.raises(NoCorrectConfigError, match="none of 0 measurements succeeded"):
        fit([], device)
