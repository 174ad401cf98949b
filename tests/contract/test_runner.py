"""Requirements for every runner; a new one adds a line to `RUNNERS`."""

from collections.abc import Callable, Iterator

import pytest

from mltune.device_info import DeviceInfo
from mltune.kernel import KernelFamily
from mltune.measurement import Status
from mltune.problem import Problem, gemm, gemm_problem
from mltune.problem.precision import Precision
from mltune.runner import DEFAULT_SAMPLES, ReplayRunner, Runner, WorkerRunner
from mltune.space.config import Config
from tests.sessions import session_spec

PROBLEM = gemm_problem(gemm(Precision.SINGLE), 17, 9, 5)
NEED_A_DEVICE = ("pocl_runner", "builder_runner")
RUNNERS = (*NEED_A_DEVICE, "recorded_device_runner", "replay_runner")


@pytest.fixture(scope="module")
def builder_runner(device_spec: str, naive_family: KernelFamily) -> Iterator[WorkerRunner]:
    with WorkerRunner(device_spec, naive_family, builders=1) as runner:
        yield runner


@pytest.fixture(scope="module")
def recorded_device_runner(naive_family: KernelFamily) -> Iterator[WorkerRunner]:
    with WorkerRunner(session_spec("runner_contract"), naive_family, builders=1) as runner:
        yield runner


@pytest.fixture
def replay_runner(
    recorded_device_runner: WorkerRunner, naive_config: Callable[..., Config]
) -> ReplayRunner:
    device = recorded_device_runner
    rows = [device.run(PROBLEM, naive_config(fault)) for fault in ("none", "syntax")]
    return ReplayRunner(rows, device.device)


@pytest.fixture(
    params=[
        pytest.param(name, marks=[pytest.mark.device] if name in NEED_A_DEVICE else [])
        for name in RUNNERS
    ]
)
def runner(request: pytest.FixtureRequest) -> Runner:
    chosen: Runner = request.getfixturevalue(request.param)
    return chosen


def test_a_good_config_has_its_times(runner: Runner, naive_config: Callable[..., Config]) -> None:
    measurement = runner.run(PROBLEM, naive_config())

    assert measurement.status is Status.OK, measurement.message
    assert len(measurement.seconds) >= DEFAULT_SAMPLES
    assert measurement.median is not None
    assert measurement.median > 0
    assert measurement.max_error is not None
    assert measurement.error_bound is not None
    assert measurement.max_error <= measurement.error_bound


def test_the_answer_says_what_was_asked(
    runner: Runner, naive_config: Callable[..., Config]
) -> None:
    measurement = runner.run(PROBLEM, naive_config())

    assert measurement.problem == PROBLEM
    assert measurement.config == naive_config()
    assert measurement.family == "naive"
    assert measurement.kernel
    assert len(measurement.source_hash) == 16
    assert measurement.device == runner.device.name
    assert measurement.driver == runner.device.driver_version
    assert measurement.id == 0


def test_a_config_that_does_not_build_is_an_answer(
    runner: Runner, naive_config: Callable[..., Config]
) -> None:
    measurement = runner.run(PROBLEM, naive_config("syntax"))

    assert measurement.status is Status.BUILD_ERROR
    assert measurement.seconds == ()
    assert "error" in measurement.message


def test_a_config_that_nobody_knows_is_invalid(runner: Runner) -> None:
    config = Config.of({"unheard_of": 1})

    measurement = runner.run(PROBLEM, config)

    assert measurement.status is Status.INVALID
    assert measurement.message
    assert measurement.config == config


def test_the_device_is_described(runner: Runner) -> None:
    assert isinstance(runner.device, DeviceInfo)


@pytest.mark.parametrize("size", [(1, 1, 1), (16, 16, 16)])
def test_a_problem_may_be_new(
    runner: Runner, naive_config: Callable[..., Config], size: tuple[int, int, int]
) -> None:
    problem: Problem = gemm_problem(gemm(Precision.SINGLE), *size, beta=2.0)

    assert runner.run(problem, naive_config()).status in (Status.OK, Status.INVALID)


def test_what_was_prepared_is_measured_as_what_was_not(
    runner: Runner, naive_config: Callable[..., Config]
) -> None:
    configs = (naive_config("syntax"), Config.of({"unheard_of": 1}), naive_config())
    for config in configs:
        runner.prepare(PROBLEM, config)

    place = runner.soonest(PROBLEM, configs)
    assert runner.has_built(PROBLEM, configs)
    answers = [runner.run(PROBLEM, config).status for config in configs]

    assert place in range(len(configs))
    assert answers == [Status.BUILD_ERROR, Status.INVALID, Status.OK]


def test_one_that_was_not_prepared_is_soonest_when_alone(
    runner: Runner, naive_config: Callable[..., Config]
) -> None:
    assert runner.soonest(PROBLEM, (naive_config(),)) == 0
