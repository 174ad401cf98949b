"""numpy with the BLAS it is linked with (OpenBLAS in pip's wheels), on the host's cores."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_info

from mltune.bench.contestant import CannotComputeError
from mltune.bench.task import Array, Task
from mltune.counted import counted
from mltune.problem import Contraction


class NumpyBlas:
    """`numpy.matmul` into an array."""

    name = "numpy"

    def describe(self, contraction: Contraction) -> str:
        """Return version, BLAS and number of threads."""
        blas = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
        if not blas:
            return f"numpy {np.__version__}"
        pool = blas[0]
        library = f"{pool['internal_api']} {pool['version']}"
        return f"numpy {np.__version__} ({library}, {counted(pool['num_threads'], 'thread')})"

    def prepare(self, task: Task) -> NumpyProduct:
        """Bind the numbers.

        Raises:
            CannotComputeError: for half precision, which numpy's BLAS lacks.
        """
        if task.dtype == np.float16:
            raise CannotComputeError("numpy has no BLAS for half precision")
        a, b = task.operands()
        # The transposed product, whose result is row-major, which BLAS writes without a copy.
        out = np.empty(task.c_shape, task.dtype)
        return NumpyProduct(task, b.swapaxes(1, 2), a.swapaxes(1, 2), out)

    def close(self) -> None:
        """Do nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class NumpyProduct:
    """One product of numpy arrays."""

    task: Task
    left: Array
    right: Array
    out: Array
    kernel = ""
    has_kernel_time = False

    def compute(self) -> Array:
        """Multiply."""
        self.out.fill(np.nan)
        self._multiply()
        return self.out.copy()

    def kernel_seconds(self, count: int) -> None:
        """Return None, as the host has no device clock."""

    def call_seconds(self, count: int) -> float:
        """Time the calls."""
        start = time.perf_counter()
        for _ in range(count):
            self._multiply()
        return (time.perf_counter() - start) / count

    def close(self) -> None:
        """Do nothing."""

    def _multiply(self) -> None:
        for left, right, out in zip(self.left, self.right, self.out, strict=True):
            np.matmul(left, right, out=out)
        if self.task.has_epilogue:
            self.task.finish(self.out)
