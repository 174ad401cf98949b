"""The needed part of CUDA's runtime: memory, a stream, events and graphs, through ctypes."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from mltune.bench.contestant import CannotComputeError, NotPresentError
from mltune.bench.shared_library import load_library
from mltune.bench.task import Array

HINT = "it comes with the CUDA toolkit, or with pip: nvidia-cuda-runtime, nvidia-cublas"

_TO_DEVICE, _TO_HOST = 1, 2
_CAPTURE_RELAXED = 2
_MAJOR, _MINOR = 75, 76  # attributes of a device: its compute capability


class Cuda:
    """One CUDA device with one stream."""

    def __init__(self, pci_address: str) -> None:
        """Open the device at a PCI address, `0000:00:06`.

        Raises:
            NotPresentError: when there is no CUDA runtime, or no such device.
        """
        self._runtime, _ = load_library("cudart", hint=HINT)
        self._runtime.cudaGetErrorString.restype = ctypes.c_char_p
        device = ctypes.c_int()
        try:
            self._do("cudaDeviceGetByPCIBusId", ctypes.byref(device), pci_address.encode())
            self._do("cudaSetDevice", device)
            major, minor = (self._attribute(device, number) for number in (_MAJOR, _MINOR))
            self.architecture = f"sm_{major}{minor}"
            self.stream = ctypes.c_void_p()
            self._do("cudaStreamCreate", ctypes.byref(self.stream))
            self._start, self._end = ctypes.c_void_p(), ctypes.c_void_p()
            for event in (self._start, self._end):
                self._do("cudaEventCreate", ctypes.byref(event))
        except CannotComputeError as error:
            raise NotPresentError(f"no CUDA device at {pci_address}: {error}") from error

    def allocate(self, nbytes: int) -> ctypes.c_void_p:
        """Return device memory."""
        pointer = ctypes.c_void_p()
        self._do("cudaMalloc", ctypes.byref(pointer), ctypes.c_size_t(nbytes))
        return pointer

    def free(self, pointer: ctypes.c_void_p) -> None:
        """Free device memory."""
        self._do("cudaFree", pointer)

    def upload(self, array: Array) -> ctypes.c_void_p:
        """Copy an array to new memory."""
        pointer = self.allocate(array.nbytes)
        host = np.ascontiguousarray(array)
        self._copy(pointer, ctypes.c_void_p(host.ctypes.data), host.nbytes, _TO_DEVICE)
        return pointer

    def download(self, pointer: ctypes.c_void_p, array: Array) -> None:
        """Fill an array."""
        self.wait()
        self._copy(ctypes.c_void_p(array.ctypes.data), pointer, array.nbytes, _TO_HOST)

    def wait(self) -> None:
        """Return when the stream is empty."""
        self._do("cudaStreamSynchronize", self.stream)

    def graph(self, enqueue: Callable[[], None]) -> ctypes.c_void_p:
        """Record the commands that a function enqueues, to be launched as one graph."""
        graph, executable = ctypes.c_void_p(), ctypes.c_void_p()
        self._do("cudaStreamBeginCapture", self.stream, ctypes.c_int(_CAPTURE_RELAXED))
        enqueue()
        self._do("cudaStreamEndCapture", self.stream, ctypes.byref(graph))
        self._do(
            # the function without Flags has other arguments from CUDA 12 on
            "cudaGraphInstantiateWithFlags",
            ctypes.byref(executable),
            graph,
            ctypes.c_ulonglong(0),
        )
        self._do("cudaGraphDestroy", graph)
        return executable

    def graph_seconds(self, executable: ctypes.c_void_p) -> float:
        """Launch a graph, and return its time on the device."""
        self._do("cudaEventRecord", self._start, self.stream)
        self._do("cudaGraphLaunch", executable, self.stream)
        self._do("cudaEventRecord", self._end, self.stream)
        self.wait()
        milliseconds = ctypes.c_float()
        self._do("cudaEventElapsedTime", ctypes.byref(milliseconds), self._start, self._end)
        return milliseconds.value * 1e-3

    def drop_graph(self, executable: ctypes.c_void_p) -> None:
        """Free a graph."""
        self._do("cudaGraphExecDestroy", executable)

    def _attribute(self, device: ctypes.c_int, number: int) -> int:
        value = ctypes.c_int()
        self._do("cudaDeviceGetAttribute", ctypes.byref(value), ctypes.c_int(number), device)
        return value.value

    def _copy(self, to: Any, source: Any, nbytes: int, kind: int) -> None:
        self._do("cudaMemcpy", to, source, ctypes.c_size_t(nbytes), ctypes.c_int(kind))

    def _do(self, name: str, *arguments: Any) -> None:
        status = getattr(self._runtime, name)(*arguments)
        if status != 0:
            reason = self._runtime.cudaGetErrorString(status).decode()
            raise CannotComputeError(f"{name}: {reason}")
