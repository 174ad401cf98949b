"""Checks memory by kernels of mltune's own, in integer arithmetic, which every device has."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl

from mltune.device.errors import DeviceLostError, LaunchError
from mltune.device.inspection import MOST_SPOTS, Kept, Put
from mltune.device.opencl.fill import clear, copy_zeros
from mltune.device.opencl.quiet import built
from mltune.device.opencl.raising import raising

Array = np.ndarray[Any, np.dtype[Any]]

# On a processor each work-item reads a range of its own; on a GPU neighbours read neighbouring
# words.
_CPU_GRID = (64, 1)
_GPU_ITEMS = 512 * 128
_WORD = 8  # bytes
_MOST_CHECKSUMS = 2


class OpenCLInspection:
    """Checks a device's memory; for use by one thread."""

    def __init__(
        self, context: cl.Context, queue: cl.CommandQueue, group: int, *, fills: bool
    ) -> None:
        """Build the kernels.

        Args:
            context: of the device.
            queue: in order.
            group: work-items of a group.
            fills: whether the driver fills memory by itself.

        Raises:
            LaunchError: when the driver cannot.
        """
        self._clear = clear if fills else copy_zeros
        self._context, self._queue = context, queue
        self._exchanges: dict[int, cl.Kernel] = {}
        is_cpu = context.devices[0].type & cl.device_type.CPU
        items, group = _CPU_GRID if is_cpu else (_GPU_ITEMS, group)
        self._grid = (items,), (group,)
        source = Path(__file__).with_name("inspection.cl").read_text(encoding="utf-8")
        with raising(LaunchError, "the driver cannot build the memory checks"):
            self._program = built(context, source)
            self._count_other = cl.Kernel(self._program, "mltune_count_other")
            self._count_other.set_scalar_arg_dtypes([None, np.uint64, np.uint64, np.uint64, None])
            self._checksum = cl.Kernel(self._program, "mltune_checksum")
            self._checksum.set_scalar_arg_dtypes([None, np.uint64, None, np.uint32])
            self._sums = cl.Buffer(context, cl.mem_flags.READ_WRITE, _MOST_CHECKSUMS * _WORD)

    def checksums(self, *buffers: cl.Buffer) -> tuple[int, ...]:
        """Wait, and return a checksum of 64 bits for each of one or two buffers.

        It depends on every word and its place. Sizes must be multiples of 4.
        """
        sums = np.zeros(len(buffers), np.uint64)
        with raising(DeviceLostError, "the device failed a memory check"):
            self._clear(self._queue, self._sums, sums.nbytes)
            for slot, buffer in enumerate(buffers):
                self._checksum(
                    self._queue, *self._grid, buffer, buffer.size // 4, self._sums, slot
                )
            cl.enqueue_copy(self._queue, sums, self._sums, is_blocking=True)
        return tuple(map(int, sums))

    def pattern_check(self, byte: int) -> OpenCLPatternCheck:
        """Make an object that checks whether memory contains one byte throughout.

        Raises:
            LaunchError: when there is no memory left.
        """
        with raising(LaunchError, "no memory for a memory check"):
            found = cl.Buffer(self._context, cl.mem_flags.READ_WRITE, _WORD)
        kernel = self._count_other
        return OpenCLPatternCheck(self._queue, kernel, self._grid, byte, found, self._clear)

    def spots(self, places: Array, values: Array, most_seen: int) -> OpenCLSpots:
        """Make an object that writes and reads single elements of a tensor.

        Args:
            places: of the elements in the tensor's buffer, counted in elements.
            values: rows of what may be written to each of them.
            most_seen: how many elements can be kept until they are read.

        Raises:
            LaunchError: when there is no memory left.
        """
        with raising(LaunchError, "no memory for spot checks"):
            kernel = self._exchange(values.itemsize)
            return OpenCLSpots(self._context, self._queue, kernel, places, values, most_seen)

    def _exchange(self, itemsize: int) -> cl.Kernel:
        """Return the kernel that writes and keeps elements; pyopencl takes 1 ms to make one."""
        if itemsize not in self._exchanges:
            kernel = cl.Kernel(self._program, f"mltune_spots_{itemsize}")
            # Without their types, pyopencl takes 10 us for each number.
            kernel.set_scalar_arg_dtypes([None] * 4 + [np.uint32] * 9)
            self._exchanges[itemsize] = kernel
        return self._exchanges[itemsize]


class OpenCLPatternCheck:
    """Whether several ranges of memory contain one byte throughout, with one answer for all.

    `OpenCLInspection.pattern_check` makes it.
    """

    def __init__(
        self,
        queue: cl.CommandQueue,
        kernel: cl.Kernel,
        grid: Any,
        byte: int,
        found: cl.Buffer,
        clear: Callable[[cl.CommandQueue, cl.Buffer, int], None],
    ) -> None:
        self._queue, self._kernel, self._grid, self._found = queue, kernel, grid, found
        self._clear = clear
        self._word = int.from_bytes(bytes([byte]) * _WORD, "little")
        self.begin()

    def begin(self) -> None:
        """Reset the answer; returns at once."""
        with raising(DeviceLostError, "the device failed a memory check"):
            self._clear(self._queue, self._found, _WORD)

    def look(self, buffer: cl.Buffer, first_byte: int, end_byte: int) -> None:
        """Check a range of a buffer, whose ends are multiples of 8; returns at once."""
        if end_byte <= first_byte:
            return
        first, count = first_byte // _WORD, (end_byte - first_byte) // _WORD
        with raising(DeviceLostError, "the device failed a memory check"):
            self._kernel(self._queue, *self._grid, buffer, first, count, self._word, self._found)

    def is_whole(self) -> bool:
        """Wait, and return whether all ranges since `begin` contained nothing else."""
        found = np.empty(1, np.uint64)
        with raising(DeviceLostError, "the device failed a memory check"):
            cl.enqueue_copy(self._queue, found, self._found, is_blocking=True)
        return not found[0]


class OpenCLSpots:
    """Single elements of one tensor, which are written before a launch and read after it.

    `OpenCLInspection.spots` makes it.
    """

    def __init__(
        self,
        context: cl.Context,
        queue: cl.CommandQueue,
        kernel: cl.Kernel,
        places: Array,
        values: Array,
        most_seen: int,
    ) -> None:
        flags = cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR
        self._queue = queue
        self._dtype = values.dtype
        self._rows = len(values)
        self._seen = cl.Buffer(context, cl.mem_flags.READ_WRITE, most_seen * values.itemsize)
        self._kernel = kernel
        self._fixed = (
            cl.Buffer(context, flags, hostbuf=places.astype(np.uint64)),
            cl.Buffer(context, flags, hostbuf=np.ascontiguousarray(values)),
            self._seen,
            len(places),
            self._rows,
        )
        # Drivers that compile at the first launch do it now.
        self.exchange(self._seen, None, None)
        queue.finish()

    def exchange(self, tensor: cl.Buffer, keep: Kept | None, then: Kept | Put | None) -> None:
        """Keep some elements, then write or keep others; returns at once.

        A count is at most `MOST_SPOTS`.
        """
        numbers = [0] * 7
        if keep:
            numbers[:3] = keep.start, keep.count, keep.first
        match then:
            case Put():
                numbers[3:] = then.start, then.count, 0, then.row
            case Kept():
                numbers[3:] = then.start, then.count, then.first, self._rows
        with raising(DeviceLostError, "the device failed a spot check"):
            self._kernel(self._queue, (MOST_SPOTS,), (MOST_SPOTS,), tensor, *self._fixed, *numbers)

    def seen(self, count: int) -> Array:
        """Wait, and return the first elements that were kept."""
        found = np.empty(count, self._dtype)
        with raising(DeviceLostError, "the device failed a spot check"):
            cl.enqueue_copy(self._queue, found, self._seen, is_blocking=True)
        return found
