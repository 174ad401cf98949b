"""Epilogues of libraries that have none, compared with numpy."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path
from shutil import which

import numpy as np
import pyopencl as cl
import pytest

from mltune.bench.contestant import CannotComputeError
from mltune.bench.finish import FinishKernel
from mltune.bench.numpy_blas import NumpyBlas
from mltune.bench.opencl_finish import OpenCLFinish
from mltune.bench.opencl_queues import Queues
from mltune.bench.task import Task
from mltune.device import choose
from mltune.problem import gemm_problem, parse_problem_type

CASES = [
    ("sgemm_nn_bias_m_relu", (12, 7, 5), 4),
    ("sgemm_tn_bias_n_gelu", (13, 7, 5), 1),
    ("sgemm_nn_row_bias_m_silu", (13, 6, 5), 2),  # C^T's columns
    ("dgemm_nn_clamp", (14, 7, 5), 2),
    ("hgemm_nt_bias_m", (16, 3, 5), 4),
    ("sgemm_nn_batched_bias_n_relu", (12, 7, 5, 3), 4),
    ("sgemm_nn_bias_m", (2050, 3, 1), 2),  # several work-groups along the rows
    ("sgemm_nn_bias_n", (4, 33000, 1), 4),  # more columns than work-groups
]


def _task(problem_type: str, size: tuple[int, ...]) -> Task:
    problem = gemm_problem(parse_problem_type(problem_type), *size)
    return Task.draw(replace(problem, low=-0.5, high=0.75), seed=3)


@pytest.mark.device
@pytest.mark.parametrize(("problem_type", "size", "width"), CASES)
def test_the_kernel_does_what_the_epilogue_says(
    device_spec: str, problem_type: str, size: tuple[int, ...], width: int
) -> None:
    task = _task(problem_type, size)
    queues = Queues.open(choose(device_spec))
    c = np.random.default_rng(4).standard_normal(task.c_shape).astype(task.dtype)
    right = c.astype(np.float64)
    task.finish(right)
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    buffer = cl.Buffer(queues.calls.context, flags, hostbuf=c)
    finish = OpenCLFinish(queues.calls.context, task, buffer)

    finish.enqueue(queues.calls).wait()
    cl.enqueue_copy(queues.calls, c, buffer)
    finish.release()

    assert FinishKernel(task).width == width
    bound = 4 * np.finfo(task.dtype).eps
    np.testing.assert_allclose(c.astype(np.float64), right, rtol=bound, atol=bound)


def test_no_library_on_a_device_adds_a_bias_to_complex_numbers() -> None:
    with pytest.raises(CannotComputeError, match="no library adds a bias to complex numbers"):
        FinishKernel(_task("cgemm_nn_bias_m", (4, 4, 4)))


@pytest.mark.parametrize(("problem_type", "size", "width"), CASES)
def test_numpy_finishes_its_product(problem_type: str, size: tuple[int, ...], width: int) -> None:
    task = _task(problem_type, size)
    if task.dtype == np.float16:
        pytest.skip("numpy has no BLAS for half")

    product = NumpyBlas().prepare(task)

    assert task.relative_error(product.compute()) < 1e-6
    assert task.relative_error(product.compute() + np.float32(0.01)) > 1e-3


@pytest.mark.long
@pytest.mark.skipif(which("nvcc") is None, reason="needs nvcc")
@pytest.mark.parametrize(("problem_type", "size", "width"), CASES)
def test_the_cuda_source_compiles(
    problem_type: str, size: tuple[int, ...], width: int, tmp_path: Path
) -> None:
    source = tmp_path / "finish.cu"
    source.write_text(FinishKernel(_task(problem_type, size)).cuda)

    subprocess.run(["nvcc", "-arch=sm_90", "-cubin", "-o", tmp_path / "out", source], check=True)
