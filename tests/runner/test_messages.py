import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from mltune.kernel import Area, Kernel, Pass
from mltune.measurement import Status
from mltune.problem import gemm, gemm_problem
from mltune.problem.precision import Precision
from mltune.runner.messages import Outcome, Request
from mltune.runner.timing import SamplingPlan


@pytest.mark.parametrize("order", ["column", "row"])
def test_a_request_survives_the_pipe(naive_kernel: Callable[..., Kernel], order: str) -> None:
    contraction = gemm(Precision.DOUBLE, "t", "n", order)
    request = Request(
        problem=gemm_problem(contraction, 5, 6, 7, lda=20, ldb=21, offset_c=1, beta=0.5),
        kernel=naive_kernel(contraction=contraction),
        plan=SamplingPlan(samples=7, give_up_above=1e-3, cold=True),
        check=False,
        seed=3,
        run_seconds=1.5,
    )

    assert Request.from_json(json.loads(json.dumps(request.to_json()))) == request


def test_a_kernel_is_sent_once_for_requests_in_a_row(naive_kernel: Callable[..., Kernel]) -> None:
    first = Request(
        problem=gemm_problem(gemm(Precision.SINGLE), 5, 6, 7),
        kernel=naive_kernel(),
        plan=SamplingPlan(samples=1),
        seed=0,
        run_seconds=1.0,
    )
    second = replace(first, seed=1)
    other = replace(first, kernel=naive_kernel("syntax"))

    assert second.to_json(first.kernel)["kernel"] is None
    assert Request.from_json(second.to_json(first.kernel), first.kernel) == second
    assert Request.from_json(other.to_json(first.kernel), first.kernel) == other


def test_all_passes_survive_the_pipe(naive_kernel: Callable[..., Kernel]) -> None:
    contraction = gemm(Precision.SINGLE)
    kernel = replace(
        naive_kernel(contraction=contraction),
        split=3,
        before=(Pass(entry="pack", work_group=(8, 8, 1), tile=(64, 8), over="il"),),
        after=(Pass(entry="finish", work_group=(32, 4, 1), tile=(32, 4), part=("edge", "whole")),),
        part=("whole", "all"),
        scratch=(Area(element_bytes=4, tile=(32, 32), copies=3),),
    )
    request = Request(
        problem=gemm_problem(contraction, 5, 6, 7),
        kernel=kernel,
        plan=SamplingPlan(samples=1),
        seed=0,
        run_seconds=1.0,
    )

    assert Request.from_json(json.loads(json.dumps(request.to_json()))) == request


def test_an_outcome_survives_the_pipe() -> None:
    outcome = Outcome(
        status=Status.OK,
        seconds=(1e-6, 2e-6),
        max_error=0.0,
        error_bound=1e-7,
        observed=(("clock_mhz", 1980.0),),
    )

    assert Outcome.from_json(json.loads(json.dumps(outcome.to_json()))) == outcome
