"""CLBlast (https://github.com/CNugteren/CLBlast) through its C interface, in the same context."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pyopencl as cl

from mltune.bench.contestant import CannotComputeError
from mltune.bench.opencl_finish import OpenCLFinish
from mltune.bench.opencl_queues import Queues
from mltune.bench.shared_library import load_library
from mltune.bench.task import Array, Task
from mltune.problem import Contraction

_COLUMN_MAJOR = 102
_TRANSPOSE = {"N": 111, "T": 112, "C": 113}
_REFUSALS = {
    -2045: "the device has no half precision",
    -2044: "the device has no double precision",
    -2046: "its kernel needs more local memory than the device has",
}


class _Float2(ctypes.Structure):
    _fields_ = (("x", ctypes.c_float), ("y", ctypes.c_float))


class _Double2(ctypes.Structure):
    _fields_ = (("x", ctypes.c_double), ("y", ctypes.c_double))


_SCALARS: dict[str, tuple[Any, Any, Any]] = {
    "float16": (ctypes.c_uint16, 0x3C00, 0),  # the bits of 1 and 0
    "float32": (ctypes.c_float, 1.0, 0.0),
    "float64": (ctypes.c_double, 1.0, 0.0),
    "complex64": (_Float2, _Float2(1, 0), _Float2(0, 0)),
    "complex128": (_Double2, _Double2(1, 0), _Double2(0, 0)),
}


class CLBlast:
    """The shared library; Debian has it as `libclblast1`."""

    name = "clblast"

    def __init__(self, queues: Queues) -> None:
        """Load it.

        Raises:
            NotPresentError: when it is not installed.
        """
        self._library, self._path = load_library("clblast", hint="Debian: libclblast1")
        self._queues = queues

    def describe(self, contraction: Contraction) -> str:
        """Return the library's file, as no call returns its version, and the device."""
        return f"CLBlast ({self._path}) on {self._queues.info.name_and_driver}"

    def prepare(self, task: Task) -> CLBlastProduct:
        """Copy the numbers to the device.

        Raises:
            CannotComputeError: when CLBlast refuses the device or the problem, or there is no
                room for the numbers.
        """
        try:
            return CLBlastProduct(self._library, self._queues, task)
        except cl.Error as error:
            raise CannotComputeError(f"CLBlast: the device failed: {error}") from error

    def close(self) -> None:
        """Do nothing: the compiled kernels stay in the library's cache until the process ends."""


class CLBlastProduct:
    """One product, by `CLBlastXgemm` or its strided batched form."""

    kernel = ""
    has_kernel_time = True

    def __init__(self, library: ctypes.CDLL, queues: Queues, task: Task) -> None:
        self._queues = queues
        self._out = np.empty(task.c_shape, task.dtype)
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        context = queues.calls.context
        self._out.fill(np.nan)
        self._a, self._b, self._c = (
            cl.Buffer(context, flags, hostbuf=array) for array in (task.a, task.b, self._out)
        )
        letter = task.problem.contraction.precision.letter.upper()
        batched = task.batch > 1
        routine = f"CLBlast{letter}gemm" + "StridedBatched" * batched
        self._function = getattr(library, routine)
        self._function.restype = ctypes.c_int
        self._arguments = self._blas_arguments(task, batched)
        self._finish = OpenCLFinish(context, task, self._c) if task.has_epilogue else None
        self._call(queues.calls)  # compiles the kernels
        queues.calls.finish()

    def compute(self) -> Array:
        """Multiply, and copy C back."""
        self._call(self._queues.calls)
        cl.enqueue_copy(self._queues.calls, self._out, self._c)
        return self._out.copy()

    def kernel_seconds(self, count: int) -> float | None:
        """Return the smaller one of two times: of a sequence of calls, and of single calls.

        CLBlast copies and pads before it multiplies, returns the event of its last kernel only,
        and waits for the device when it frees the copies. So a single call is timed from a marker
        before it, if the driver has such times.
        """
        alone = 0
        try:
            for _ in range(count):
                before = cl.enqueue_marker(self._queues.profiled)
                event = self._call(self._queues.profiled)
                event.wait()
                alone += event.profile.end - before.profile.end
        except cl.Error:
            alone = 0
        train = self._queues.clock.seconds(self._call, count)
        return train and min(train, alone * 1e-9 / count or train)

    def call_seconds(self, count: int) -> float:
        """Time the calls."""
        return self._queues.call_seconds(self._call, count)

    def close(self) -> None:
        """Free the device's memory."""
        for buffer in (self._a, self._b, self._c):
            buffer.release()
        if self._finish is not None:
            self._finish.release()

    def _blas_arguments(self, task: Task, batched: bool) -> list[Any]:
        kind, one, zero = _SCALARS[task.dtype.name]
        size, pointer = ctypes.c_size_t, ctypes.c_void_p

        def matrix(buffer: cl.Buffer, leading: int, elements: int) -> list[Any]:
            stride = [size(elements)] if batched else []
            return [pointer(buffer.int_ptr), size(0), size(leading), *stride]

        scalar = (lambda value: value) if isinstance(one, ctypes.Structure) else kind
        return [
            ctypes.c_int(_COLUMN_MAJOR),
            ctypes.c_int(_TRANSPOSE[task.trans_a]),
            ctypes.c_int(_TRANSPOSE[task.trans_b]),
            *(size(extent) for extent in (task.m, task.n, task.k)),
            scalar(one),
            *matrix(self._a, task.lda, task.m * task.k),
            *matrix(self._b, task.ldb, task.n * task.k),
            scalar(zero),
            *matrix(self._c, task.ldc, task.m * task.n),
            *([size(task.batch)] if batched else []),
        ]

    def _call(self, queue: cl.CommandQueue) -> cl.Event:
        handle = ctypes.c_void_p(queue.int_ptr)
        event = ctypes.c_size_t()
        status = self._function(*self._arguments, ctypes.byref(handle), ctypes.byref(event))
        if status != 0:
            raise CannotComputeError(f"CLBlast: {_REFUSALS.get(status, f'status {status}')}")
        product = cl.Event.from_int_ptr(event.value, retain=False)
        return product if self._finish is None else self._finish.enqueue(queue)
