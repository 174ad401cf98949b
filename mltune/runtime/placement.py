"""Where the elements of arrays lie in memory, and whether kernels can read them there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array

_WHOLE = cl.mem_info.ASSOCIATED_MEMOBJECT
_OVERLAP_WORK = 100_000  # candidates that numpy tries, in some milliseconds

# Plain tuples, as they are made at every call: a named one takes ten times as long.
Memory = tuple[int, int, int]
"""Where a buffer lies: the buffer that it is a part of, at which byte it begins, and its bytes."""

Described = tuple[np.dtype[Any], tuple[int, ...], tuple[int, ...], int, int]
"""The fields of an `PlacedArray`."""


class PlacedArray(NamedTuple):
    """How an array's elements lie in its buffer of `room` bytes; strides and offset in bytes."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    room: int

    @property
    def end(self) -> int:
        """The byte behind the last element."""
        steps = zip(self.shape, self.strides, strict=True)
        return (
            self.offset
            + self.dtype.itemsize
            + sum((extent - 1) * stride for extent, stride in steps)
        )


def memory_of(array: cl_array.Array) -> Memory:
    """Return where an array's data lies: in a buffer, or in shared virtual memory."""
    data: Any = array.base_data
    if data is None:  # an empty array has none
        return -1, 0, 0
    if not isinstance(data, cl.MemoryObjectHolder):
        return 0, data.svm_ptr, data.size
    whole: Any = data.get_info(_WHOLE)
    if whole is None:
        return data.int_ptr, 0, data.size
    return whole.int_ptr, data.offset, data.size


def described(array: cl_array.Array, memory: Memory) -> Described:
    """Return the fields of an array's `PlacedArray`."""
    return array.dtype, array.shape, array.strides, array.offset, memory[2]


def distance_of(x: Memory, c: Memory) -> int | None:
    """Return x's offset from c's buffer in bytes; None if their memories are different ones."""
    return x[1] - c[1] if x[0] == c[0] else None


@dataclass(frozen=True, slots=True)
class _Addresses:
    """Has the fields by which numpy takes an object for an array; its elements are never read."""

    __array_interface__: Mapping[str, object]


def shares_element(x: PlacedArray, c: PlacedArray, distance: int) -> bool:
    """Whether two arrays have an element in common; True if that is too expensive to find out.

    Args:
        x: an array.
        c: another one in the same memory.
        distance: of their buffers, by `distance_of`.
    """
    begins = (x.offset + distance, c.offset)
    first, second = (
        np.asarray(
            _Addresses(
                {
                    "version": 3,
                    "typestr": array.dtype.str,
                    "shape": array.shape,
                    "strides": array.strides,
                    "data": (1 + begin - min(begins), True),
                }
            )
        )
        for array, begin in zip((x, c), begins, strict=True)
    )
    try:
        most: Any = _OVERLAP_WORK  # numpy takes any number, but its stubs name two
        return np.shares_memory(first, second, max_work=most)
    except np.exceptions.TooHardError:
        return True


def _dimensions(order: str) -> tuple[int, int]:
    """Return the axis along which a matrix is contiguous, and its other axis."""
    return (-2, -1) if order == "F" else (-1, -2)


def packed_strides(shape: tuple[int, ...], order: str, itemsize: int) -> tuple[int, ...]:
    """Return the strides in bytes of matrices without gaps, each in a memory order."""
    rows, columns = shape[-2:]
    matrix = (columns, 1) if order == "C" else (1, rows)
    steps = (rows * columns, *matrix) if len(shape) == 3 else matrix
    return tuple(step * itemsize for step in steps)


def allocator_for(a: cl_array.Array, queue: cl.CommandQueue) -> Any:
    """Return a's allocator if a call is on a's queue; else None, for a buffer of OpenCL.

    A pool uses freed memory again, in the order of its queue: commands of another queue may still
    write to it. OpenCL keeps a buffer until the commands of all queues that use it have ended.
    Shared virtual memory without a queue is freed at once, also under a kernel.
    """
    frees: Any = getattr(a.base_data, "_queue", queue)
    return a.allocator if frees == a.queue == queue else None


def fits(array: PlacedArray, order: str) -> bool:
    """Whether kernels support the layout: contiguous along one axis, no negative strides.

    The stride of an axis with a single element is never used, so it does not count.
    """
    if 0 in array.shape:
        return True
    fast, _ = _dimensions(order)
    itemsize = array.dtype.itemsize
    steps = zip(array.strides, array.shape, strict=True)
    return (
        array.offset % itemsize == 0
        and all(stride >= 0 and stride % itemsize == 0 for stride, extent in steps if extent > 1)
        and (array.shape[fast] == 1 or array.strides[fast] == itemsize)
    )


def overlaps(array: PlacedArray) -> bool:
    """Whether elements share memory: an axis's stride is shorter than the axes below it."""
    if 0 in array.shape:
        return False
    reach = array.dtype.itemsize
    for stride, extent in sorted(zip(array.strides, array.shape, strict=True)):
        if extent > 1:
            if stride < reach:
                return True
            reach += (extent - 1) * stride
    return False


def arguments_of(name: str, array: PlacedArray, order: str) -> dict[str, int]:
    """Return a matrix's offset, leading dimension and batch stride, in elements."""
    fast, slow = _dimensions(order)
    leading, batch = max(1, array.shape[fast]), 0
    if array.shape[slow] > 1:
        leading = array.strides[slow] // array.dtype.itemsize
    if len(array.shape) == 3 and array.shape[0] > 1:
        batch = array.strides[0] // array.dtype.itemsize
    return {
        f"offset_{name}": array.offset // array.dtype.itemsize,
        f"ld_{name}": leading,
        f"batch_stride_{name}": batch,
    }
