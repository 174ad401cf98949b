from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest

from mltune.cost_model import train
from mltune.errors import MltuneError
from mltune.measurement import Measurement
from mltune.report import Model
from mltune.run.run import Run
from mltune.run.run_info import RunInfo
from mltune.tuning.progress import ignore_progress
from mltune.workflow.learning import learn

SHIPPED = Path(__file__).parents[2] / "runs" / "2026-11-22-sgemm-nn-nvidia-h200-skinny-2"


@pytest.fixture(autouse=True)
def few_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let models have fewer trees than shipped ones."""
    monkeypatch.setattr(train, "_TREES", 40)


@pytest.fixture(scope="module")
def shipped() -> tuple[RunInfo, list[Measurement]]:
    """A small run that ships."""
    with Run.open(SHIPPED) as run:
        return run.info, run.store.measurements()


@pytest.mark.long
def test_each_size_is_predicted_once_whatever_the_number_of_cores(
    shipped: tuple[RunInfo, list[Measurement]], monkeypatch: pytest.MonkeyPatch
) -> None:
    info, rows = shipped
    models = []
    for cores in ("1", "4"):
        monkeypatch.setenv("LOKY_MAX_CPU_COUNT", cores)
        models.append(learn(rows, info.device, ignore_progress))
    model = models[0]

    assert models[0] == models[1]
    assert isinstance(model, Model)
    assert sorted(measured for measured, _ in model.calibration) == sorted(
        row.median for row in rows if row.median is not None
    )
    assert len(model.bias) == len({row.problem for row in rows if row.median is not None})
    errors = [math.log(predicted / measured) for measured, predicted in model.calibration]
    assert model.rmse_log == pytest.approx(math.hypot(*errors) / len(errors) ** 0.5)
    assert math.hypot(*errors) < 0.5 * len(errors) ** 0.5
    counts = Counter(row.problem.label for row in rows if row.median is not None)
    assert math.fsum(counts[label] * math.log(bias) for label, bias in model.bias) == (
        pytest.approx(math.fsum(errors))
    )
    shares = [share for _, share in model.importance]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] > 0
    assert {name for name, _ in model.importance} <= set(rows[0].config)


def test_one_size_tells_importance_and_no_error(
    shipped: tuple[RunInfo, list[Measurement]],
) -> None:
    info, rows = shipped
    model = learn([r for r in rows if r.problem == rows[0].problem], info.device, ignore_progress)

    assert isinstance(model, Model)
    assert (model.calibration, model.bias, model.rmse_log) == ((), (), None)
    assert model.importance


def test_the_parameter_that_decides_the_times_is_the_most_important(
    shipped: tuple[RunInfo, list[Measurement]],
) -> None:
    info, rows = shipped
    made_up = [
        replace(row, seconds=(1e-6 * row.config.int("depth_u"),))
        for row in rows
        if row.problem == rows[0].problem and row.seconds
    ]

    model = learn(made_up, info.device, ignore_progress)

    assert isinstance(model, Model)
    (first, most), (_, second) = model.importance[:2]
    assert first == "depth_u"
    assert most > 0.3
    assert second < most / 5


def test_errors_are_those_on_sizes_that_the_model_has_not_seen(
    shipped: tuple[RunInfo, list[Measurement]],
) -> None:
    info, rows = shipped
    rng = np.random.default_rng(0)
    noise = [replace(row, seconds=(rng.uniform(1, 9),)) for row in rows[:200] if row.seconds]

    model = learn(noise, info.device, ignore_progress)

    assert isinstance(model, Model)
    assert model.rmse_log is not None
    assert model.rmse_log > np.std([np.log(row.seconds) for row in noise])


def test_a_model_that_failed_says_why(
    shipped: tuple[RunInfo, list[Measurement]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def ended(*_: object) -> NoReturn:
        raise MltuneError("a process was ended by the system")

    info, rows = shipped
    monkeypatch.setattr("mltune.workflow.learning.side_by_side", ended)

    line = learn(rows, info.device, ignore_progress)

    assert line == "The cost model could not be fitted: a process was ended by the system."
    assert "needs measurements that succeeded" in str(learn([], info.device, ignore_progress))
