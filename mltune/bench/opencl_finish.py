"""An epilogue as a kernel of its own, on an OpenCL queue."""

from __future__ import annotations

import numpy as np
import pyopencl as cl

from mltune.bench.finish import GROUP, NAME, FinishKernel
from mltune.bench.task import Task
from mltune.device.opencl.quiet import built


class OpenCLFinish:
    """The kernel, with its arguments set.

    Args:
        context: to build it in.
        task: with the epilogue.
        c: the buffer of the product.
    """

    def __init__(self, context: cl.Context, task: Task, c: cl.Buffer) -> None:
        self._text = FinishKernel(task)
        self._kernel = cl.Kernel(built(context, self._text.opencl), NAME)
        flags = cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR
        self._bias = None if task.bias is None else cl.Buffer(context, flags, hostbuf=task.bias)
        real = np.float64 if task.dtype == np.float64 else np.float32
        self._kernel.set_args(
            c,
            c if self._bias is None else self._bias,
            np.uint64(task.m),
            np.uint64(self._text.columns),
            real(task.problem.low),
            real(task.problem.high),
        )

    def enqueue(self, queue: cl.CommandQueue) -> cl.Event:
        """Enqueue the epilogue of the product that the queue computed before."""
        rows, columns = self._text.groups
        return cl.enqueue_nd_range_kernel(queue, self._kernel, (rows * GROUP, columns), (GROUP, 1))

    def release(self) -> None:
        """Free the bias."""
        if self._bias is not None:
            self._bias.release()
