"""Looks at a device's memory where it lies: whole patterns, checksums and single elements.

All of it is integer arithmetic, so that every device can do it.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl

from mltune.device.errors import DeviceLostError, LaunchError

Array = np.ndarray[Any, np.dtype[Any]]

_GROUPS, _GROUP = 512, 64
_WORD = 8  # bytes


class Inspection:
    """What a device tells about its memory; for use by one thread."""

    def __init__(self, context: cl.Context, queue: cl.CommandQueue) -> None:
        """Build the kernels that look.

        Raises:
            LaunchError: when the driver cannot.
        """
        self._context, self._queue = context, queue
        source = Path(__file__).with_name("inspection.cl").read_text(encoding="utf-8")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", cl.CompilerWarning)
                self._program = cl.Program(context, source).build(["-cl-std=CL1.2"])
            self._count_other = cl.Kernel(self._program, "mltune_count_other")
            self._checksum = cl.Kernel(self._program, "mltune_checksum")
            self._out = cl.Buffer(context, cl.mem_flags.READ_WRITE, 2 * _WORD)
        except cl.Error as error:
            raise LaunchError(f"the driver cannot look at memory: {error}") from error

    def is_full(self, buffer: cl.Buffer, byte: int, first_byte: int, end_byte: int) -> bool:
        """Whether a stretch of a buffer holds one byte throughout.

        Both ends must be multiples of 8.
        """
        if end_byte <= first_byte:
            return True
        word = np.uint64(int.from_bytes(bytes([byte]) * _WORD, "little"))
        first, count = first_byte // _WORD, (end_byte - first_byte) // _WORD
        found = self._ask(self._count_other, buffer, np.uint64(first), np.uint64(count), word)
        return found == 0

    def checksum(self, buffer: cl.Buffer) -> int:
        """Return 64 bits that depend on every word of a buffer, and on where it stands.

        Its size must be a multiple of 4.
        """
        return self._ask(self._checksum, buffer, np.uint64(buffer.size // 4))

    def spots(self, places: Array, values: Array, most_seen: int) -> Spots:
        """Make ready to write and read single elements of a tensor.

        Args:
            places: which elements, counted in the tensor's buffer.
            values: rows of what may be written to each of them.
            most_seen: how many elements can be kept until they are collected.

        Raises:
            LaunchError: when there is no memory left.
        """
        try:
            return Spots(self._context, self._queue, self._program, places, values, most_seen)
        except cl.Error as error:
            raise LaunchError(f"no memory for spot checks: {error}") from error

    def _ask(self, kernel: cl.Kernel, *arguments: Any) -> int:
        found = np.zeros(1, np.uint64)
        try:
            cl.enqueue_copy(self._queue, self._out, found, is_blocking=False)
            kernel(self._queue, (_GROUPS * _GROUP,), (_GROUP,), *arguments, self._out)
            answer = np.empty(1, np.uint64)
            cl.enqueue_copy(self._queue, answer, self._out, is_blocking=True)
        except cl.Error as error:
            raise DeviceLostError(f"the device failed to look at memory: {error}") from error
        return int(answer[0])


class Spots:
    """Single elements of one tensor, which are written before a launch and collected after it.

    `Inspection.spots` makes it.
    """

    def __init__(
        self,
        context: cl.Context,
        queue: cl.CommandQueue,
        program: Any,
        places: Array,
        values: Array,
        most_seen: int,
    ) -> None:
        flags = cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR
        self._queue = queue
        self._dtype = values.dtype
        self._places = cl.Buffer(context, flags, hostbuf=places.astype(np.uint64))
        self._values = cl.Buffer(context, flags, hostbuf=np.ascontiguousarray(values))
        self._seen = cl.Buffer(context, cl.mem_flags.READ_WRITE, most_seen * values.itemsize)
        self._put = cl.Kernel(program, f"mltune_put_{values.itemsize}")
        self._get = cl.Kernel(program, f"mltune_get_{values.itemsize}")
        for kernel, other in ((self._put, self._values), (self._get, self._seen)):
            kernel.set_arg(1, self._places)
            kernel.set_arg(2, other)
            kernel.set_arg(3, np.uint32(len(places)))
        # Drivers that compile at the first launch are to do it now.
        self._run(self._put, self._values, 0, 0, 0)
        self._run(self._get, self._values, 0, 0, 0)
        queue.finish()

    def put(self, tensor: cl.Buffer, start: int, count: int, row: int) -> None:
        """Write `count` elements from place number `start` on, with values of a row."""
        self._run(self._put, tensor, start, count, row)

    def get(self, tensor: cl.Buffer, start: int, count: int, first: int) -> None:
        """Keep the same elements as they are now, as numbers `first` and up."""
        self._run(self._get, tensor, start, count, first)

    def seen(self, count: int) -> Array:
        """Wait, and return the first elements that were kept."""
        found = np.empty(count, self._dtype)
        try:
            cl.enqueue_copy(self._queue, found, self._seen, is_blocking=True)
        except cl.Error as error:
            raise DeviceLostError(f"the device failed a spot check: {error}") from error
        return found

    def _run(self, kernel: cl.Kernel, tensor: cl.Buffer, *numbers: int) -> None:
        items = -(-max(numbers[1], 1) // _GROUP) * _GROUP
        try:
            kernel.set_arg(0, tensor)
            for place, number in enumerate(numbers, 4):
                kernel.set_arg(place, np.uint32(number))
            cl.enqueue_nd_range_kernel(self._queue, kernel, (items,), (_GROUP,))
        except cl.Error as error:
            raise DeviceLostError(f"the device failed a spot check: {error}") from error
