"""An epilogue as a kernel of its own, on a CUDA stream."""

from __future__ import annotations

import ctypes
from typing import Any

from mltune.bench.cuda import Cuda
from mltune.bench.cuda_kernel import CudaKernel
from mltune.bench.finish import GROUP, NAME, FinishKernel
from mltune.bench.task import Task


class CudaFinish:
    """The kernel with its arguments.

    Args:
        cuda: the device and its stream.
        task: with the epilogue.
        c: the product.
    """

    def __init__(self, cuda: Cuda, task: Task, c: ctypes.c_void_p) -> None:
        self._cuda = cuda
        self._text = FinishKernel(task)
        self._kernel = CudaKernel(self._text.cuda, NAME, cuda.architecture)
        self._bias = None if task.bias is None else cuda.upload(task.bias)
        real = ctypes.c_double if task.dtype.name == "float64" else ctypes.c_float
        self._arguments: tuple[Any, ...] = (
            c,
            self._bias or ctypes.c_void_p(),
            ctypes.c_ulong(task.m),
            ctypes.c_ulong(self._text.columns),
            real(task.problem.low),
            real(task.problem.high),
        )

    def enqueue(self) -> None:
        """Enqueue the epilogue of the product that the stream computed before."""
        self._kernel.launch(self._cuda.stream, self._text.groups, GROUP, self._arguments)

    def release(self) -> None:
        """Free kernel and bias."""
        self._kernel.unload()
        if self._bias is not None:
            self._cuda.free(self._bias)
