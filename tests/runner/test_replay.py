from collections.abc import Callable
from dataclasses import replace

import pytest

from mltune.device_info import DeviceInfo
from mltune.measurement import Measurement, Phase, Status
from mltune.problem import gemm, gemm_problem
from mltune.problem.precision import Precision
from mltune.runner import ReplayRunner
from mltune.space.config import Config

PROBLEM = gemm_problem(gemm(Precision.SINGLE), 4, 4, 4)


@pytest.fixture
def row(naive_config: Callable[..., Config]) -> Measurement:
    return Measurement(
        problem=PROBLEM,
        config=naive_config(),
        family="naive",
        kernel="k",
        source_hash="0" * 16,
        build_options=(),
        device="d",
        driver="1",
        uuid="",
        status=Status.OK,
        seconds=(1.0, 2.0, 3.0),
        id=12,
        trial=3,
        phase=Phase.FINAL,
    )


def test_the_last_record_counts_and_comes_back_as_new(
    row: Measurement, device_info: DeviceInfo
) -> None:
    later = replace(row, seconds=(4.0,), id=13)

    answer = ReplayRunner([row, later], device_info).run(PROBLEM, row.config)

    assert answer.seconds == (4.0,)
    assert (answer.id, answer.trial, answer.phase) == (0, -1, "search")


def test_another_size_was_not_recorded(row: Measurement, device_info: DeviceInfo) -> None:
    other = gemm_problem(gemm(Precision.SINGLE), 4, 4, 5)

    answer = ReplayRunner([row], device_info).run(other, row.config)

    assert answer.status is Status.INVALID
    assert answer.message == "not among the recorded measurements"
    assert answer.family == "naive"
