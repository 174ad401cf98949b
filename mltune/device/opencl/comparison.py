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

Array = np.ndarray[Any, np.dtype[Any]]

_ITEMS = 1 << 14
COMPARISON_GROUP = 64  # work-items, if the device supports so many
_FOUND = np.dtype([("wrong", "u8"), ("written", "u8"), ("place", "u8"), ("error", "f8")])
_REALS = {2: "half", 4: "float", 8: "double"}


class OpenCLComparison:
    """A right result in a device's memory, to compare others with.

    Raises:
        LaunchError: when the driver has no memory for it.
    """

    def __init__(
        self,
        context: cl.Context,
        queue: cl.CommandQueue,
        expected: Expected,
        group: int = COMPARISON_GROUP,
    ) -> None:
        self._queue, self._group = queue, (group,)
        self._expected = expected
        self._compare, self._count = _kernels(context, expected.dtype, expected.pattern)
        self._words = _words(np.dtype(expected.dtype))
        try:
            self._right, self._norms_a, self._norms_b, self._dims = (
                self._upload(context, array)
                for array in (
                    expected.values,
                    expected.norms_a,
                    expected.norms_b,
                    np.array(expected.dims, np.uint64),
                )
            )
            write = cl.mem_flags.WRITE_ONLY
            self._found = cl.Buffer(context, write, _ITEMS * _FOUND.itemsize)
            self._written = cl.Buffer(context, write, _ITEMS * 8)
        except cl.Error as error:
            raise LaunchError(f"no memory for the reference: {error}") from error

    def run(self, result: cl.Buffer) -> Difference:
        """Compare a result, without changing it.

        Raises:
            DeviceLostError: when the device fails.
        """
        expected = self._expected
        found, written = np.empty(_ITEMS, _FOUND), np.empty(_ITEMS, np.uint64)
        try:
            self._compare(
                self._queue, (_ITEMS,), self._group,
                result, expected.first, expected.count, self._right, self._norms_a,
                self._norms_b, expected.constant, self._dims, len(expected.dims), self._found,
            )  # fmt: skip
            self._count(
                self._queue, (_ITEMS,), self._group,
                result, expected.length * self._words, self._written,
            )  # fmt: skip
            cl.enqueue_copy(self._queue, found, self._found)
            cl.enqueue_copy(self._queue, written, self._written)
        except cl.Error as error:
            raise DeviceLostError(f"the device failed a comparison: {error}") from error
        worst = found[found["error"].argmax()]
        return Difference(
            wrong=int(found["wrong"].sum()),
            written_outside=bool(written.sum() != found["written"].sum()),
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
def _kernels(context: cl.Context, dtype_name: str, pattern: int) -> tuple[cl.Kernel, cl.Kernel]:
    """Return the kernels that compare and count; pyopencl takes 1 ms to make one."""
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
    }
    source = "".join(f"#define {name} {value}\n" for name, value in definitions.items())
    source += Path(__file__).with_name("comparison.cl").read_text(encoding="utf-8")
    program = built(context, source)
    compare, count = (
        cl.Kernel(program, f"mltune_{name}") for name in ("compare", "count_written")
    )
    long, wide = np.uint64, np.float64
    compare.set_scalar_arg_dtypes(
        [None, long, long, None, None, None, wide, None, np.uint32, None]
    )
    count.set_scalar_arg_dtypes([None, long, None])
    return compare, count
