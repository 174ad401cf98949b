"""Requirements for every cost model."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from mltune.cost_model import BoostedModel, CostModel, fit, load, rank, save
from mltune.device_info import DeviceInfo
from mltune.measurement.measurement import Measurement, Status
from mltune.problem import Precision, Problem, gemm, gemm_problem
from mltune.space.config import Config
from tests.devices import CPU

CONFIGS = [Config.of({"tile": tile, "word": word}) for tile in (1, 2, 4, 8) for word in ("a", "b")]
PROBLEMS = [gemm_problem(gemm(Precision.SINGLE), size, size, size) for size in (16, 64, 256)]


def measured(problem: Problem, config: Config) -> Measurement:
    return Measurement(
        problem=problem,
        config=config,
        family="any",
        kernel=f"k{config.id}",
        source_hash="0",
        build_options=(),
        device="a device",
        driver="1",
        uuid="",
        status=Status.OK,
        seconds=(problem.flops / config.int("tile") / 1e9,),
    )


def reloaded(rows: Sequence[Measurement], device: DeviceInfo, folder: Path) -> BoostedModel:
    save(fit(rows, device, folds=0), folder)
    return load(folder)


Train = Callable[[Sequence[Measurement], DeviceInfo, Path], CostModel]

TRAINERS: dict[str, Train] = {
    "boosted": lambda rows, device, folder: fit(rows, device, folds=0),
    "boosted, loaded": reloaded,
}


@pytest.fixture(params=list(TRAINERS), scope="module")
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> CostModel:
    rows = [measured(problem, config) for problem in PROBLEMS for config in CONFIGS]
    return TRAINERS[request.param](rows, CPU, tmp_path_factory.mktemp("model"))


def test_it_knows_its_device(model: CostModel) -> None:
    assert model.device == CPU


def test_there_is_one_prediction_per_config_in_order(model: CostModel) -> None:
    forward = model.predict(PROBLEMS[0], CONFIGS)

    assert forward.shape == (len(CONFIGS),)
    assert forward.dtype == np.float64
    assert np.array_equal(model.predict(PROBLEMS[0], CONFIGS[::-1]), forward[::-1])
    assert model.predict(PROBLEMS[0], []).shape == (0,)


def test_predictions_are_log_seconds_near_the_measured_ones(model: CostModel) -> None:
    truth = [np.log(measured(PROBLEMS[1], config).seconds[0]) for config in CONFIGS]

    assert np.abs(model.predict(PROBLEMS[1], CONFIGS) - truth).max() < 0.5


@pytest.mark.parametrize(
    "config",
    [{}, {"tile": 0}, {"tile": -7, "word": "new"}, {"tile": "word"}, {"other": 10**18}],
    ids=str,
)
def test_a_config_unlike_any_other_still_has_a_finite_prediction(
    model: CostModel, config: dict[str, int | str]
) -> None:
    tiny = gemm_problem(gemm(Precision.COMPLEX_DOUBLE, "c", "t", "row", True), 1, 1, 1, 1)
    huge = gemm_problem(gemm(Precision.HALF), 2**30, 2**30, 2**30)

    for problem in (tiny, huge):
        assert np.isfinite(model.predict(problem, [Config.of(config)])).all()


def test_ranking_lists_each_config_once_from_fast_to_slow(model: CostModel) -> None:
    ranked = rank(model, PROBLEMS[1], [*CONFIGS, CONFIGS[0]])

    assert {config for config, _ in ranked} == set(CONFIGS)
    assert len(ranked) == len(CONFIGS)
    assert [seconds for _, seconds in ranked] == sorted(seconds for _, seconds in ranked)
    assert ranked[0][0]["tile"] == 8
    assert rank(model, PROBLEMS[1], []) == []
