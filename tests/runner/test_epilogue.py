import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from mltune.kernel.families import FAMILIES
from mltune.measurement import Status
from mltune.problem import Problem, gemm_problem, parse_problem_type
from mltune.runner import WorkerRunner
from mltune.runner.epilogue import SLOPES, activated, finished, slope
from mltune.space import Config

VALUES = np.array([-40.0, -3.0, -0.5, 0.0, 0.25, 2.0, 40.0])
CONFIG = Config.of(
    {
        "work_group_0": 4,
        "work_group_1": 4,
        "thread_tile_0": 4,
        "thread_tile_1": 2,
        "depth_u": 4,
        "vector_width": 4,
        "work_group_mapping": 1,
        "multiply_add": "expr",
        "vector_access": "cast",
    }
)


def _problem(name: str) -> Problem:
    return gemm_problem(parse_problem_type(f"sgemm_nn_{name}"), 33, 21, 40)


@pytest.fixture(scope="module")
def runner(device_spec: str) -> Iterator[WorkerRunner]:
    with WorkerRunner(device_spec, FAMILIES["direct"], samples=1) as made:
        yield made


@pytest.mark.parametrize(
    ("name", "right"),
    [
        ("relu", lambda x: max(x, 0.0)),
        ("gelu", lambda x: 0.5 * x * (1 + math.erf(x / math.sqrt(2)))),
        ("silu", lambda x: x / (1 + math.exp(-x))),
        ("clamp", lambda x: min(max(x, -1.0), 2.5)),
    ],
)
def test_activations_are_those_of_the_textbook(name: str, right: object) -> None:
    problem = replace(_problem(name), low=-1.0, high=2.5)
    found = activated(problem, VALUES.copy())

    assert callable(right)
    assert found == pytest.approx([right(x) for x in VALUES], rel=1e-12, abs=1e-12)
    assert np.isnan(activated(problem, np.array([np.nan]))).all()


@pytest.mark.parametrize("name", ["relu", "gelu", "silu", "clamp"])
def test_no_activation_is_steeper_than_its_bound(name: str) -> None:
    problem = _problem(name)
    x = np.linspace(-12, 12, 100_001)
    steepest = np.abs(np.diff(activated(problem, x.copy())) / np.diff(x)).max()

    assert steepest <= slope(problem) * (1 + 1e-9)
    assert slope(problem) == SLOPES.get(problem.contraction.epilogue.activation, 1.0)


@pytest.mark.parametrize(("name", "axis"), [("bias_m", 0), ("bias_n", 1)])
def test_a_bias_is_added_along_its_side(name: str, axis: int) -> None:
    problem = _problem(name)
    bias = np.arange(problem.extents("bias")[0], dtype=np.float32)
    found = finished(problem, np.zeros((33, 21)), bias)

    assert (found == np.expand_dims(bias, 1 - axis)).all()


@pytest.mark.parametrize("name", ["bias_m", "relu", "bias_n_gelu", "clamp"])
def test_a_kernel_that_forgets_its_epilogue_is_wrong(runner: WorkerRunner, name: str) -> None:
    problem = _problem(name)
    kernel = FAMILIES["direct"].generate(problem.contraction, CONFIG)
    forgets = kernel.source.replace("FINISHED(result, i, j)", "result")
    forgets = forgets.replace("FINISHED_ONE(ELEMENT(result, e), i + e, j)", "ELEMENT(result, e)")

    assert runner.run_kernel(problem, kernel).status is Status.OK
    assert forgets != kernel.source
    broken = runner.run_kernel(problem, replace(kernel, source=forgets))
    assert broken.status is Status.WRONG_RESULT


def test_an_activation_after_beta_c_is_timed(runner: WorkerRunner) -> None:
    problem = replace(_problem("bias_n_silu"), beta=0.5)
    kernel = FAMILIES["direct"].generate(problem.contraction, CONFIG)

    assert runner.run_kernel(problem, kernel).status is Status.OK
