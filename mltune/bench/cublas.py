"""cuBLAS, timed by CUDA graphs: the device's time without the host's delays.

Single precision is computed in single precision, as cuBLAS's default mode uses no TF32, or in the
problem's compute type. Half is multiplied by tensor cores and summed in single precision, as in
mltune's kernels.
"""

from __future__ import annotations

import ctypes
import time
from typing import Any

import numpy as np

from mltune.bench.contestant import CannotComputeError, NotPresentError
from mltune.bench.cuda import HINT, Cuda
from mltune.bench.cuda_finish import CudaFinish
from mltune.bench.shared_library import load_library
from mltune.bench.task import Array, Task
from mltune.device_info import DeviceInfo
from mltune.problem import ComputeType, Contraction, Precision

_TRANSPOSE = {"N": 0, "T": 1, "C": 2}
_WORKSPACE_BYTES = 32 << 20  # what NVIDIA's documentation advises for Hopper
_COMPUTE_32F, _COMPUTE_64F = 68, 70
_TYPES: dict[str, tuple[int, int, str]] = {  # data type, compute type, type of alpha and beta
    "float16": (2, _COMPUTE_32F, "float32"),
    "float32": (0, _COMPUTE_32F, "float32"),
    "float64": (1, _COMPUTE_64F, "float64"),
    "complex64": (4, _COMPUTE_32F, "complex64"),
    "complex128": (5, _COMPUTE_64F, "complex128"),
}
_FAST = {ComputeType.HALF: 74, ComputeType.BF16: 75, ComputeType.TF32: 77}  # of single precision
_DEFAULT_ALGORITHM = -1

MODES = {
    Precision.HALF: "half precision, summed in single",
    Precision.SINGLE: "single precision without TF32",
    Precision.DOUBLE: "double precision",
    Precision.COMPLEX_SINGLE: "complex single precision without TF32",
    Precision.COMPLEX_DOUBLE: "complex double precision",
}
"""The precision of the computation, as text."""


class CuBLAS:
    """The library on the CUDA device that corresponds to an OpenCL device."""

    name = "cublas"

    def __init__(self, device: DeviceInfo) -> None:
        """Load it, and open the same device.

        Raises:
            NotPresentError: when there is no cuBLAS, or the device is not NVIDIA's.
        """
        if not device.uuid.startswith("pci-"):
            raise NotPresentError(f"{device.name} is no NVIDIA device")
        self._cuda = Cuda(device.uuid.removeprefix("pci-") + ".0")
        load_library("cublasLt", hint=HINT)  # the loader does not find it where pip installs it
        self._library, _ = load_library("cublas", hint=HINT)
        self._handle = ctypes.c_void_p()
        version = ctypes.c_int()
        self._do("cublasCreate_v2", ctypes.byref(self._handle))
        self._do("cublasGetVersion_v2", self._handle, ctypes.byref(version))
        self._do("cublasSetStream_v2", self._handle, self._cuda.stream)
        self._workspace = self._cuda.allocate(_WORKSPACE_BYTES)
        self._do(
            "cublasSetWorkspace_v2", self._handle, self._workspace,
            ctypes.c_size_t(_WORKSPACE_BYTES),
        )  # fmt: skip
        self._version = version.value
        self._device = device.name

    def describe(self, contraction: Contraction) -> str:
        """Return version, device, and precision of the computation."""
        version = f"{self._version // 10000}.{self._version // 100 % 100}.{self._version % 100}"
        mode = MODES[contraction.precision]
        if contraction.rounds:
            mode = f"single precision, multiplied in {contraction.compute.value}"
        return f"cuBLAS {version} on {self._device} ({mode})"

    def prepare(self, task: Task) -> CuBLASProduct:
        """Copy the numbers to the device.

        Raises:
            CannotComputeError: when cuBLAS refuses, the device has no room, or nothing compiles
                the kernel of an epilogue.
        """
        return CuBLASProduct(self._cuda, self._library, self._handle, task)

    def close(self) -> None:
        """Free cuBLAS's resources."""
        self._do("cublasDestroy_v2", self._handle)
        self._cuda.free(self._workspace)

    def _do(self, name: str, *arguments: Any) -> None:
        status = getattr(self._library, name)(*arguments)
        if status != 0:
            raise NotPresentError(f"cuBLAS does not start: {name} gave status {status}")


class CuBLASProduct:
    """One product, by `cublasGemmEx` or its strided batched form."""

    kernel = ""
    has_kernel_time = True

    def __init__(
        self, cuda: Cuda, library: ctypes.CDLL, handle: ctypes.c_void_p, task: Task
    ) -> None:
        self._cuda = cuda
        self._out = np.full(task.c_shape, np.nan, task.dtype)
        self._held: list[ctypes.c_void_p] = []
        self._finish: CudaFinish | None = None
        self._graphs: dict[int, ctypes.c_void_p] = {}
        batched = task.batch > 1
        self._function = library.cublasGemmStridedBatchedEx if batched else library.cublasGemmEx
        try:
            a, b, self._c = map(self._upload, (task.a, task.b, self._out))
            self._arguments = self._blas_arguments(handle, task, (a, b, self._c))
            if task.has_epilogue:
                self._finish = CudaFinish(cuda, task, self._c)
            self._call()  # cuBLAS loads its kernel now, as it cannot during a capture
            cuda.wait()
        except (CannotComputeError, NotPresentError) as error:  # the latter of an epilogue
            self.close()
            raise CannotComputeError(str(error)) from error

    def compute(self) -> Array:
        """Multiply, and copy C back."""
        self._call()
        self._cuda.download(self._c, self._out)
        return self._out.copy()

    def kernel_seconds(self, count: int) -> float:
        """Time a graph of `count` calls; each includes a gap of about 1 us."""
        if count not in self._graphs:
            self._graphs[count] = self._cuda.graph(lambda: self._calls(count))
            self._cuda.graph_seconds(self._graphs[count])
        return self._cuda.graph_seconds(self._graphs[count]) / count

    def call_seconds(self, count: int) -> float:
        """Time the calls."""
        self._cuda.wait()
        start = time.perf_counter()
        self._calls(count)
        self._cuda.wait()
        return (time.perf_counter() - start) / count

    def close(self) -> None:
        """Free the device's memory."""
        for graph in self._graphs.values():
            self._cuda.drop_graph(graph)
        for pointer in self._held:
            self._cuda.free(pointer)
        if self._finish is not None:
            self._finish.release()

    def _upload(self, array: Array) -> ctypes.c_void_p:
        self._held.append(self._cuda.upload(array))
        return self._held[-1]

    def _blas_arguments(
        self, handle: ctypes.c_void_p, task: Task, matrices: tuple[ctypes.c_void_p, ...]
    ) -> list[Any]:
        data, compute, scalar = _TYPES[task.dtype.name]
        compute = _FAST.get(task.problem.contraction.compute, compute)
        self._scalars = np.array([1, 0], scalar)  # the library reads them at every call
        one, zero = (ctypes.c_void_p(self._scalars[i:].ctypes.data) for i in (0, 1))
        integer, long = ctypes.c_int, ctypes.c_longlong

        def matrix(pointer: ctypes.c_void_p, leading: int, elements: int) -> list[Any]:
            stride = [long(elements)] if task.batch > 1 else []
            return [pointer, integer(data), integer(leading), *stride]

        a, b, c = matrices
        return [
            handle,
            integer(_TRANSPOSE[task.trans_a]),
            integer(_TRANSPOSE[task.trans_b]),
            *(integer(extent) for extent in (task.m, task.n, task.k)),
            one,
            *matrix(a, task.lda, task.m * task.k),
            *matrix(b, task.ldb, task.n * task.k),
            zero,
            *matrix(c, task.ldc, task.m * task.n),
            *([integer(task.batch)] if task.batch > 1 else []),
            integer(compute),
            integer(_DEFAULT_ALGORITHM),
        ]

    def _calls(self, count: int) -> None:
        for _ in range(count):
            self._call()

    def _call(self) -> None:
        status = self._function(*self._arguments)
        if status != 0:
            raise CannotComputeError(f"cuBLAS refused with status {status}")
        if self._finish is not None:
            self._finish.enqueue()
