"""Overwrites memory by a kernel.

NVIDIA's `clEnqueueFillBuffer` takes the host longer than eight launches. It also counts the words
before the end of the filled range in 31 bits: with more words it hangs or writes elsewhere (driver
580.159).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyopencl as cl

from mltune.device.errors import LaunchError
from mltune.device.opencl.quiet import built
from mltune.device.opencl.raising import raising

_WORD = 4  # bytes
_MOST_GROUPS = 2048
_ZEROS = np.zeros(64, np.uint8)


def clear(queue: cl.CommandQueue, buffer: cl.Buffer, nbytes: int) -> None:
    """Set the first bytes of a buffer to 0, at most 64 of them; returns at once."""
    cl.enqueue_fill_buffer(queue, buffer, _ZEROS[:4], 0, nbytes)


def copy_zeros(queue: cl.CommandQueue, buffer: cl.Buffer, nbytes: int) -> None:
    """Do the same as `clear` on a driver that cannot fill memory, as before OpenCL 1.2."""
    cl.enqueue_copy(queue, buffer, _ZEROS[:nbytes], is_blocking=False)


class Filler:
    """Fills buffers with one byte; for use by one thread."""

    def __init__(self, context: cl.Context, queue: cl.CommandQueue, group: int) -> None:
        """Build the kernel.

        Raises:
            LaunchError: when the driver cannot.
        """
        self._queue, self._group = queue, (group,)
        source = Path(__file__).with_name("fill.cl").read_text(encoding="utf-8")
        with raising(LaunchError, "the driver cannot fill memory"):
            self._kernel = cl.Kernel(built(context, source), "mltune_fill")
        self._kernel.set_scalar_arg_dtypes([None, np.uint64, np.uint64, np.uint32])

    def fill(self, buffer: cl.Buffer, byte: int, first_byte: int, end_byte: int) -> None:
        """Overwrite a range whose ends are multiples of 4; returns at once."""
        count = (end_byte - first_byte) // _WORD
        if count <= 0:
            return
        (group,) = self._group
        items = min(-(-count // group), _MOST_GROUPS) * group
        word = int.from_bytes(bytes([byte]) * _WORD, "little")
        self._kernel(self._queue, (items,), self._group, buffer, first_byte // _WORD, count, word)
