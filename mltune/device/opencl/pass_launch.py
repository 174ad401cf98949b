"""One pass of a kernel whose arguments are set, ready to be started."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache

import pyopencl as cl
from pyopencl import _cl

Extent = tuple[int, ...]


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
        launch = _opencl_launch()
        if launch is None:
            self.start(queue)
            return
        rank = len(self._global_size)
        status = launch(
            queue.int_ptr, self._function.int_ptr, rank, None, *self._sizes, 0, None, None
        )
        if status:
            raise cl.RuntimeError(f"clEnqueueNDRangeKernel gave status {status}")


@cache
def _opencl_launch() -> Callable[..., int] | None:
    """Return OpenCL's own function, from pyopencl's loader; None if it is not found."""
    try:
        launch = ctypes.CDLL(_cl.__file__).clEnqueueNDRangeKernel
    except (AttributeError, OSError):
        return None
    pointer, count = ctypes.c_void_p, ctypes.c_uint
    launch.argtypes = (
        pointer, pointer, count, pointer, pointer, pointer, count, pointer, pointer
    )  # fmt: skip
    return launch
