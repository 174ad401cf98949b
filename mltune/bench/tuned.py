"""The tuned library, through its public calls."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array

from mltune.bench.contestant import CannotComputeError
from mltune.bench.opencl_queues import Queues
from mltune.bench.task import Array, Task
from mltune.counted import counted
from mltune.errors import MltuneError
from mltune.problem import Contraction
from mltune.problem.layout import memory_orders
from mltune.runtime import TunedGemm


class Tuned:
    """A selector with its kernels on an OpenCL device."""

    name = "mltune"

    def __init__(self, gemm: TunedGemm, queues: Queues) -> None:
        self._gemm = gemm
        self._queues = queues

    def describe(self, contraction: Contraction) -> str:
        """Return the number of kernels, the device, and the tuned device if it is another one."""
        selector, here = self._gemm.selector, self._queues.info
        tuned = "" if selector.is_for(here.name) else f", tuned on {selector.device}"
        kernels = counted(len(selector.portfolio), "kernel")
        return f"mltune, {kernels} on {here.name_and_driver}{tuned}"

    def prepare(self, task: Task) -> TunedProduct:
        """Copy the numbers to the device.

        Raises:
            CannotComputeError: when the device has no room for them.
        """
        try:
            return TunedProduct(self._gemm, self._queues, task)
        except cl.Error as error:
            raise CannotComputeError(f"mltune: the device refused the arrays: {error}") from error

    def close(self) -> None:
        """Forget the built kernels."""
        self._gemm.release()


class TunedProduct:
    """One product by the kernel that the selector chooses for its size."""

    has_kernel_time = True

    def __init__(self, gemm: TunedGemm, queues: Queues, task: Task) -> None:
        self._gemm = gemm
        self._queues = queues
        self._task = task
        contraction = task.problem.contraction
        a, b = (task.b, task.a) if contraction.swaps_operands else (task.a, task.b)
        self._batched = bool(contraction.batch_indices)
        stored = [
            cl_array.to_device(queues.calls, storage if self._batched else storage[0])
            for storage in (a, b, np.full(task.c_shape, np.nan, task.dtype))
        ]
        self._stored_c = stored[2]
        self._a, self._b, self._c = map(self._matrix, stored, memory_orders(contraction))
        self._epilogue: dict[str, Any] = {}
        if task.bias is not None:
            self._epilogue["bias"] = cl_array.to_device(queues.calls, task.bias)
        if contraction.epilogue.clamps:
            self._epilogue |= {"low": task.problem.low, "high": task.problem.high}

    @property
    def kernel(self) -> str:
        """The name of the kernel."""
        return self._gemm.select(*self._task.problem.size).kernel.name

    def compute(self) -> Array:
        """Multiply, and copy C back.

        Raises:
            CannotComputeError: when the kernel cannot be built or started.
        """
        try:
            self._call(self._queues.calls)[-1].wait()
        except (MltuneError, cl.Error) as error:
            raise CannotComputeError(f"mltune: {error}") from error
        c: Array = self._stored_c.get().reshape(self._task.c_shape)
        return c

    def kernel_seconds(self, count: int) -> float | None:
        """Time a sequence of calls with all passes, without events, as exported C makes them."""
        return self._queues.clock.seconds(partial(self._call, watched=False), count)

    def call_seconds(self, count: int) -> float:
        """Time the calls from Python, which take some microseconds more than those from C."""
        return self._queues.call_seconds(self._call, count)

    def close(self) -> None:
        """Free the device's memory."""
        self._queues.calls.finish()
        for array in (self._a, self._b, self._c):
            if isinstance(array.base_data, cl.Buffer):
                array.base_data.release()

    def _matrix(self, stored: cl_array.Array, order: str) -> cl_array.Array:
        if order == "C":
            return stored
        axes = (0, 2, 1) if self._batched else (1, 0)
        turned: cl_array.Array = stored.transpose(axes)  # type: ignore[no-untyped-call]
        return turned

    def _call(self, queue: cl.CommandQueue, watched: bool = True) -> tuple[cl.Event, ...]:
        self._c.events.clear()  # the queue is in order, so there is nothing to wait for
        _, events = self._gemm.enqueue(
            queue, self._a, self._b, self._c, **self._epilogue, watched=watched
        )
        return events
