"""One pass of a kernel: its arguments are set, and it is started, faster than by pyopencl."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pyopencl as cl
from pyopencl import _cl

Extent = tuple[int, ...]
_POINTER = ctypes.c_void_p


class PassLaunch:
    """Starts a kernel's function on a grid, with or without an event."""

    def __init__(self, function: cl.Kernel, global_size: Extent, local_size: Extent) -> None:
        self._function, self._global_size, self._local_size = function, global_size, local_size
        self._sizes = tuple(
            (ctypes.c_size_t * len(size))(*size) for size in (global_size, local_size)
        )

    def start(self, queue: cl.CommandQueue) -> cl.Event:
        """Start it; the event knows its times."""
        return cl.enqueue_nd_range_kernel(
            queue, self._function, self._global_size, self._local_size
        )

    def start_unwatched(self, queue: cl.CommandQueue) -> None:
        """Start it without an event, which would cost NVIDIA's driver 2 us.

        pyopencl does not offer this.
        """
        launch = _opencl("clEnqueueNDRangeKernel")
        if launch is None:
            self.start(queue)
            return
        rank = len(self._global_size)
        status = launch(
            _POINTER(queue.int_ptr), _POINTER(self._function.int_ptr), rank, None, *self._sizes,
            0, None, None,
        )  # fmt: skip
        if status:
            raise cl.RuntimeError(f"clEnqueueNDRangeKernel gave status {status}")


def set_arguments(function: cl.Kernel, values: Sequence[Any]) -> None:
    """Set all arguments: buffers, None and numpy's numbers.

    pyopencl takes 20 us for each number, unless it is told their types, which takes 2 ms.
    """
    set_argument = _opencl("clSetKernelArg")
    for place, value in enumerate(values):
        if set_argument is None or not isinstance(value, np.generic):
            function.set_arg(place, value)
            continue
        data = value.tobytes()
        status = set_argument(
            _POINTER(function.int_ptr), ctypes.c_uint(place), ctypes.c_size_t(len(data)), data
        )
        if status:
            raise cl.RuntimeError(f"clSetKernelArg gave status {status} for argument {place}")


@cache
def _opencl(name: str) -> Any:
    """Return one of OpenCL's own functions, from pyopencl's loader; None if it is not found."""
    try:
        return getattr(ctypes.CDLL(_cl.__file__), name)
    except (AttributeError, OSError):
        return None
