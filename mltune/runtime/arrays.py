"""Arrays of the host on the device and back, in a memory order that kernels take."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array


def to_device(queue: cl.CommandQueue, array: Any, order: str) -> Any:
    """Copy matrices to the device, with neighbours in memory as numpy's letter says."""
    if order == "C":
        return cl_array.to_device(queue, np.ascontiguousarray(array))
    return swapped(cl_array.to_device(queue, np.ascontiguousarray(swapped(array))))


def to_host(array: Any, order: str) -> Any:
    """Copy matrices back; pyopencl reads those that are contiguous row by row."""
    return array.get() if order == "C" else swapped(swapped(array).get())


def swapped(array: Any) -> Any:
    """The same matrices, each transposed, without a copy; what is no matrix stays as it is."""
    if array.ndim < 2:
        return array
    return array.transpose((*range(array.ndim - 2), array.ndim - 1, array.ndim - 2))
