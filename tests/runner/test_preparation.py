"""Host and device prepare the same: equal numbers, and references that agree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mltune.device import BuildError, Device, open_device
from mltune.device.opencl import calculator
from mltune.kernel import Kernel
from mltune.measurement import Status
from mltune.problem import Precision, Problem, gemm, gemm_problem
from mltune.problem.gemm import parse_problem_type
from mltune.problem.problem import problem_of_size
from mltune.runner import preparation
from mltune.runner.bench import Bench
from mltune.runner.data import Layout
from mltune.runner.device_reference import DeviceReference
from mltune.runner.messages import Request
from mltune.runner.preparation import (
    Prepared,
    prepare,
    prepare_on_device,
    prepare_on_host,
    suits_device,
)
from mltune.runner.proof import ProofError
from mltune.runner.timing import SamplingPlan
from mltune.runner.validation import Reference

SEED = 3

MakeKernel = Callable[..., Kernel]


@pytest.fixture(scope="module")
def device(device_spec: str) -> Device:
    return open_device(device_spec)


def with_gaps(precision: Precision, beta: float) -> Problem:
    return gemm_problem(
        gemm(precision, "n", "t", batched=True), 37, 21, 50, 3,
        lda=41, ldc=39, offset_a=3, offset_c=5, alpha=1.5, beta=beta,
    )  # fmt: skip


PROBLEMS = {
    **{
        f"{precision.name.lower()}, beta {beta:g}": with_gaps(precision, beta)
        for precision in Precision
        for beta in (0.0, -0.5)
    },
    "conjugated": gemm_problem(
        gemm(Precision.COMPLEX_SINGLE, "c", "n"), 37, 21, 50, alpha=1.5 - 0.5j, beta=0.5j
    ),
    "conjugated B": gemm_problem(gemm(Precision.COMPLEX_DOUBLE, "t", "c"), 5, 6, 7),
    "an odd number of halves": gemm_problem(gemm(Precision.HALF), 3, 3, 3),
    "row major": gemm_problem(gemm(Precision.SINGLE, order="row"), 33, 65, 17),
    "two free indices": problem_of_size(
        parse_problem_type("s:bmk,kcn->bmcn"), (4, 3, 5, 2, 6), 1.0, 0.0
    ),
    "many indices": problem_of_size(
        parse_problem_type("d:ambkl,nlkb->bmna"), (2, 3, 4, 5, 6, 7), 1.0, 0.5
    ),
    "a matrix and a vector": problem_of_size(parse_problem_type("s:mk,k->m"), (37, 50)),
    "a batch of vectors": problem_of_size(parse_problem_type("c:bk,bk->b"), (5, 50), 1.5, 0.5),
    "two vectors": problem_of_size(parse_problem_type("h:k,k->"), (50,)),
    "one element": gemm_problem(gemm(Precision.SINGLE), 1, 1, 1, beta=0.5),
    "a long sum": gemm_problem(gemm(Precision.SINGLE), 3, 2, 5000),
    "no product": gemm_problem(gemm(Precision.SINGLE), 8, 8, 8, alpha=0.0, beta=1.0),
}


def contents(device: Device, buffer: Any, nbytes: int) -> bytes:
    found = np.empty(nbytes, np.uint8)
    device.read(buffer, found)
    return found.tobytes()


def agree(found: Prepared, expected: Prepared) -> None:
    right, other = found.right, expected.right
    exact = np.finfo(np.float64).eps
    assert right.values == pytest.approx(other.values, rel=0, abs=1e3 * exact)
    assert right.bounds.shape == other.bounds.shape
    for name in ("norms_a", "norms_b", "constant", "relative"):
        assert getattr(right.bounds, name) == pytest.approx(getattr(other.bounds, name), rel=1e-12)


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_the_device_prepares_what_the_host_prepares(device: Device, problem: Problem) -> None:
    problem = problem.canonical()
    host, made = (way(device, problem, SEED) for way in (prepare_on_host, prepare_on_device))

    for tensor in "ab":
        nbytes = Layout.of(problem, tensor).tensor_bytes
        ours, others = (getattr(each, tensor).inside for each in (made, host))
        assert contents(device, ours, nbytes) == contents(device, others, nbytes)
    nbytes = Layout.of(problem, "c").nbytes
    assert contents(device, made.fresh_c, nbytes) == contents(device, host.fresh_c, nbytes)
    agree(made, host)
    places = np.array([0, problem.m * problem.n * problem.batch - 1])
    assert (made.right.at(places) == made.right.values.ravel(order="F")[places]).all()


@pytest.mark.parametrize("precision", [Precision.SINGLE, Precision.COMPLEX_DOUBLE])
def test_a_product_in_many_blocks_is_the_same(
    device: Device, precision: Precision, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Blocks of one tile, of few terms and of one matrix; sums in several shares.
    monkeypatch.setattr(calculator, "_LARGEST_SIDE", 64)
    monkeypatch.setattr(calculator, "_LEAST_TERMS", 16)
    numbers = device.calculator(precision.dtype)
    monkeypatch.setattr(numbers, "_panel_numbers", 128 * 48 * 2)
    monkeypatch.setattr(numbers, "_units", 16)
    problem = gemm_problem(gemm(precision, batched=True), 150, 70, 100, 5, beta=0.5)

    agree(*(way(device, problem, SEED) for way in (prepare_on_device, prepare_on_host)))


def test_a_small_reference_is_kept_by_the_host_and_a_large_one_is_not(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = gemm_problem(gemm(Precision.SINGLE), 40, 30, 20)
    small = prepare_on_device(device, problem, SEED)
    monkeypatch.setattr(preparation, "LARGE", 1)
    large = prepare_on_device(device, problem, SEED)

    assert isinstance(small.right, DeviceReference)
    assert isinstance(large.right, DeviceReference)
    assert small.comparison is None
    assert small.right.kept is not None
    assert large.comparison is not None
    assert large.right.kept is None
    assert (large.right.values == small.right.kept).all()


def test_large_problems_are_prepared_on_a_gpu_that_has_doubles(device: Device) -> None:
    gpu = replace(device.info, kind="gpu", fp64=True)
    large = gemm_problem(gemm(Precision.SINGLE), 512, 512, 512)
    small = gemm_problem(gemm(Precision.SINGLE), 64, 64, 64)

    assert suits_device(gpu, large)
    assert not suits_device(gpu, small)
    assert not suits_device(replace(gpu, fp64=False), large)
    assert not suits_device(replace(gpu, max_alloc_bytes=1 << 20), large)
    assert not suits_device(replace(gpu, platform="Oclgrind"), large)
    assert not suits_device(device.info, large)


def test_a_device_that_suits_a_problem_prepares_it(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preparation, "suits_device", lambda *_: True)
    problem = gemm_problem(gemm(Precision.SINGLE), 9, 8, 7)

    assert isinstance(prepare(device, problem, SEED).right, DeviceReference)


@pytest.mark.parametrize("error", [ProofError("not proved"), BuildError("not built")])
def test_what_the_device_cannot_do_the_host_does(
    device: Device, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise error

    def suits(*_: object) -> bool:
        return True

    monkeypatch.setattr(preparation, "suits_device", suits)
    monkeypatch.setattr(preparation, "prepare_on_device", fails)
    problem = gemm_problem(gemm(Precision.SINGLE), 9, 8, 7)

    assert isinstance(prepare(device, problem, SEED).right, Reference)


@pytest.mark.parametrize(
    ("fault", "beta", "status"),
    [
        ("none", 0.0, Status.OK),
        ("none", 0.5, Status.OK),
        ("one_wrong", 0.0, Status.WRONG_RESULT),
        ("one_wrong", 0.5, Status.WRONG_RESULT),
        ("short_sum", 0.0, Status.WRONG_RESULT),
        ("short_sum", 0.5, Status.WRONG_RESULT),
        ("wrong_if_even", 0.0, Status.WRONG_RESULT),
        ("wrong_if_even", 0.5, Status.WRONG_RESULT),
        ("write_before", 0.0, Status.WRONG_RESULT),
        ("write_before", 0.5, Status.WRONG_RESULT),
        ("write_after", 0.0, Status.WRONG_RESULT),
        ("write_after", 0.5, Status.WRONG_RESULT),
        ("write_input", 0.0, Status.WRONG_RESULT),
        ("write_input", 0.5, Status.WRONG_RESULT),
        ("reads_c", 0.0, Status.WRONG_RESULT),
    ],
)
def test_kernels_are_judged_by_what_the_device_prepared(
    device: Device,
    naive_kernel: MakeKernel,
    fault: str,
    status: Status,
    beta: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(preparation, "LARGE", 1)
    bench = Bench(device, lambda stage: None, 1 << 28, prepare=prepare_on_device)
    request = Request(
        problem=gemm_problem(gemm(Precision.SINGLE), 40, 36, 24, beta=beta),
        kernel=naive_kernel(fault),
        plan=SamplingPlan(samples=3),
        seed=SEED,
        run_seconds=30,
    )

    bench.expect(request.problem, SEED)

    assert bench.measure(request).status is status
