"""Epilogues of tuned GEMMs: a bias, limits and activations, compared with numpy."""

from typing import Any, Literal

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array
import pytest

from mltune.errors import UsageError
from mltune.problem import parse_problem_type
from mltune.runtime import TunedGemm
from mltune.runtime.loading import load
from tests.runtime.test_tuned_gemm import selector_for


def tuned(problem_type: str) -> TunedGemm:
    return load(selector_for(parse_problem_type(problem_type)))


def matrices(
    queue: cl.CommandQueue, order: Literal["C", "F"], m: int = 19, n: int = 13, k: int = 7
) -> tuple[list[Any], list[Any]]:
    """A, B, C, and a bias for rows and one for columns, on the host and on the device."""
    rng = np.random.default_rng(4)
    shapes = ((m, k), (k, n), (m, n), (m,), (n,))
    host = [np.asarray(rng.standard_normal(each), np.float32, order=order) for each in shapes]
    turned = order == "F"
    there = [cl_array.to_device(queue, each.T if turned else each) for each in host]
    there = [each.T if turned else each for each in there]
    return host, there


@pytest.mark.parametrize("kernel", range(5))
def test_a_bias_and_an_activation_follow_each_kernel(queue: cl.CommandQueue, kernel: int) -> None:
    gemm = tuned("sgemm_nn_row_bias_n_relu")
    (a, b, c, _, bias), there = matrices(queue, "C")
    wanted = np.maximum(2 * a @ b - 0.5 * c + bias, 0)

    found, event = gemm.gemm(queue, *there[:3], alpha=2, beta=-0.5, bias=there[4], kernel=kernel)
    event.wait()

    np.testing.assert_allclose(found.get(), wanted, rtol=1e-5, atol=1e-5)


def test_a_part_of_an_array_is_a_bias(queue: cl.CommandQueue) -> None:
    (a, b, *_), there = matrices(queue, "F")
    long = np.arange(40, dtype="float32")
    bias = cl_array.to_device(queue, long)[5 : 5 + 19]

    found = tuned("sgemm_nn_bias_m")(there[0], there[1], bias)

    wanted = a @ b + long[5:24, None]
    np.testing.assert_allclose(found.T.get().T, wanted, rtol=1e-5, atol=1e-5)


def test_arrays_of_the_host_are_taken(queue: cl.CommandQueue) -> None:
    (a, b, _, _, bias), _ = matrices(queue, "F")

    found = tuned("sgemm_nn_bias_n_clamp")(a, b, bias, low=-0.5, high=1.0)

    np.testing.assert_allclose(found, np.clip(a @ b + bias, -0.5, 1.0), rtol=1e-5, atol=1e-5)


def test_without_a_bias_both_orders_are_taken(queue: cl.CommandQueue) -> None:
    gemm = tuned("sgemm_nn_silu")
    orders: tuple[Literal["C", "F"], ...] = ("C", "F")
    for order in orders:
        (a, b, *_), _ = matrices(queue, order)
        x = a @ b
        np.testing.assert_allclose(gemm(a, b), x / (1 + np.exp(-x)), rtol=1e-5, atol=1e-5)


def test_a_bias_counts_where_there_are_no_terms(queue: cl.CommandQueue) -> None:
    _, (*_, c, _, bias) = matrices(queue, "C")
    a = cl_array.zeros(queue, (19, 0), "float32")
    b = cl_array.zeros(queue, (0, 13), "float32")

    found, _ = tuned("sgemm_nn_row_bias_n").gemm(queue, a, b, c, bias=bias)

    assert (found.get() == np.broadcast_to(bias.get(), (19, 13))).all()


@pytest.mark.parametrize(
    ("problem_type", "changes", "words"),
    [
        ("sgemm_nn_row_bias_n", {}, "bias must be given, with n elements"),
        ("sgemm_nn_row_bias_n", {"bias": 3}, r"bias must be \(13,\), a number for each column"),
        ("sgemm_nn_row", {"bias": 4}, "bias must be left out"),
        ("sgemm_nn_row_clamp", {"low": 0.0}, "low and high must be given"),
        ("sgemm_nn_row_clamp", {"low": 1.0, "high": 0.0}, "low must not be above high"),
        ("sgemm_nn_row_relu", {"high": 6.0}, "low and high must be left out"),
        ("sgemm_nn_bias_n", {"bias": 4}, "memory orders must be a F, b F, c F "),
    ],
)
def test_what_does_not_fit_is_refused(
    queue: cl.CommandQueue, problem_type: str, changes: dict[str, Any], words: str
) -> None:
    _, there = matrices(queue, "C")
    if "bias" in changes:
        changes = {**changes, "bias": there[changes["bias"]]}

    with pytest.raises(UsageError, match=words):
        tuned(problem_type).gemm(queue, *there[:2], **changes)


def test_a_bias_is_contiguous_and_apart_from_c(queue: cl.CommandQueue) -> None:
    gemm = tuned("sgemm_nn_row_bias_n")
    _, (a, b, c, _, _) = matrices(queue, "C")

    with pytest.raises(UsageError, match="bias must be contiguous"):
        gemm.gemm(queue, a, b, bias=cl_array.zeros(queue, 26, "float32")[::2])
    with pytest.raises(UsageError, match="must not share memory with bias"):
        gemm.gemm(queue, a, b, c, bias=c[0])
    with pytest.raises(UsageError, match="bias must be float32, got float64"):
        gemm.gemm(queue, a, b, c, bias=cl_array.zeros(queue, 13, "float64"))
