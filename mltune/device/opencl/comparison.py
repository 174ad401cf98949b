"""Compares a large result with its reference by kernels of mltune's own."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl

from mltune.device.comparison import Difference, Expected
from mltune.device.errors import DeviceLostError, LaunchError
from mltune.device.opencl.quiet import built
from mltune.device.opencl.raising import raising

Array = np.ndarray[Any, np.dtype[Any]]

_CPU_ITEMS, _GPU_ITEMS = 1 << 14, 1 << 17
_NARROW = 1 << 32  # so many words need wider integers
_FOUND = np.dtype([("wrong", "u8"), ("outside", "u8"), ("place", "u8"), ("error", "f8")])
_REALS = {2: "half", 4: "float", 8: "double"}


class OpenCLComparison:
    """A right result in a device's memory, to compare others with.

    Raises:
        LaunchError: when the driver has no memory for it.
    """

    def __init__(
        self, context: cl.Context, queue: cl.CommandQueue, expected: Expected, group: int
    ) -> None:
        is_cpu = context.devices[0].type & cl.device_type.CPU
        items = _CPU_ITEMS if is_cpu else _GPU_ITEMS
        self._queue, self._grid = queue, ((items,), (group,))
        self._expected = expected
        words = expected.length * _words(np.dtype(expected.dtype))
        self._compare = _kernel(
            context, expected.dtype, expected.pattern, group, is_wide=words + items >= _NARROW
        )
        with raising(LaunchError, "no memory for the reference"):
            self._right, self._norms_a, self._norms_b, self._dims = (
                self._upload(context, array)
                for array in (
                    expected.values,
                    expected.norms_a,
                    expected.norms_b,
                    np.array(expected.dims, np.uint64),
                )
            )
            size = items // group * _FOUND.itemsize
            self._found = cl.Buffer(context, cl.mem_flags.WRITE_ONLY, size)

    def run(self, result: cl.Buffer) -> Difference:
        """Compare a result, without changing it.

        Raises:
            DeviceLostError: when the device fails.
        """
        expected = self._expected
        found = np.empty(self._found.size // _FOUND.itemsize, _FOUND)
        with raising(DeviceLostError, "the device failed a comparison"):
            self._compare(
                self._queue, *self._grid,
                result, expected.length, expected.first, expected.count, self._right,
                self._norms_a, self._norms_b, expected.constant, self._dims,
                len(expected.dims), self._found,
            )  # fmt: skip
            cl.enqueue_copy(self._queue, found, self._found)
        worst = found[found["error"].argmax()]
        return Difference(
            wrong=int(found["wrong"].sum()),
            written_outside=bool(found["outside"].sum() != 0),
            place=int(worst["place"]),
            error=float(worst["error"]),
        )

    @staticmethod
    def _upload(context: cl.Context, array: Array | cl.Buffer) -> cl.Buffer:
        if isinstance(array, cl.Buffer):
            return array
        flags = cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR
        return cl.Buffer(context, flags, hostbuf=np.ascontiguousarray(array))


def _words(dtype: np.dtype[Any]) -> int:
    """Return the words per element: half has words of two bytes, all others of four."""
    return max(dtype.itemsize // 4, 1)


@cache
def _kernel(
    context: cl.Context, dtype_name: str, pattern: int, group: int, *, is_wide: bool
) -> cl.Kernel:
    """Return the kernel that compares; pyopencl takes 1 ms to make one.

    Args:
        context: of the device.
        dtype_name: of the result.
        pattern: the byte that fills the buffer outside the result.
        group: work-items of a group.
        is_wide: whether 32 bits do not count the words; a GPU divides 64 bits slowly.
    """
    dtype = np.dtype(dtype_name)
    parts = 2 if dtype.kind == "c" else 1
    real = _REALS[dtype.itemsize // parts]
    word = min(dtype.itemsize, 4)
    definitions = {
        "REAL": real,
        "READ(p, n)": "vload_half(n, p)" if real == "half" else "(double)(p)[n]",
        "PARTS": parts,
        "WORD": "ushort" if word == 2 else "uint",
        "WORDS": _words(dtype),
        "PATTERN": int.from_bytes(bytes([pattern]) * word, "little"),
        "INDEX": "ulong" if is_wide else "uint",
        "GROUP": group,
    }
    source = "".join(f"#define {name} {value}\n" for name, value in definitions.items())
    source += Path(__file__).with_name("comparison.cl").read_text(encoding="utf-8")
    kernel = cl.Kernel(built(context, source), "mltune_compare")
    long, wide = np.uint64, np.float64
    kernel.set_scalar_arg_dtypes(
        [None, long, long, long, None, None, None, wide, None, np.uint32, None]
    )
    return kernel
