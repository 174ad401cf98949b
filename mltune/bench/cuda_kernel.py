"""A CUDA kernel from source: compiled by NVRTC, launched by the driver, through ctypes."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from mltune.bench.contestant import CannotComputeError
from mltune.bench.shared_library import load_library

_HINT = "it comes with the CUDA toolkit, or with pip: nvidia-cuda-nvrtc"


class CudaKernel:
    """One kernel in the current context.

    Args:
        source: CUDA C++.
        name: of the kernel, with C's linkage.
        architecture: of the device, such as `sm_90`.

    Raises:
        NotPresentError: when there is no NVRTC or no driver.
        CannotComputeError: when it does not compile.
    """

    def __init__(self, source: str, name: str, architecture: str) -> None:
        image = _compiled(source, architecture)
        self._driver, _ = load_library("cuda", hint="it comes with NVIDIA's driver")
        self._module, self._function = ctypes.c_void_p(), ctypes.c_void_p()
        self._do("cuModuleLoadData", ctypes.byref(self._module), image)
        self._do("cuModuleGetFunction", ctypes.byref(self._function), self._module, name.encode())

    def launch(
        self,
        stream: ctypes.c_void_p,
        groups: tuple[int, int],
        group: int,
        arguments: Sequence[Any],
    ) -> None:
        """Enqueue it.

        Args:
            stream: of this context.
            groups: blocks along x and y.
            group: threads of a block, along x.
            arguments: ctypes values.
        """
        pointers = (ctypes.c_void_p * len(arguments))(
            *(ctypes.cast(ctypes.byref(each), ctypes.c_void_p) for each in arguments)
        )
        sizes = [ctypes.c_uint(size) for size in (*groups, 1, group, 1, 1, 0)]
        self._do("cuLaunchKernel", self._function, *sizes, stream, pointers, None)

    def unload(self) -> None:
        """Free it."""
        self._do("cuModuleUnload", self._module)

    def _do(self, name: str, *arguments: Any) -> None:
        status = getattr(self._driver, name)(*arguments)
        if status != 0:
            raise CannotComputeError(f"{name} gave status {status}")


def _compiled(source: str, architecture: str) -> bytes:
    nvrtc, _ = load_library("nvrtc", hint=_HINT)
    program = ctypes.c_void_p()

    def do(name: str, *arguments: Any) -> None:
        status = getattr(nvrtc, name)(*arguments)
        if status != 0:
            raise CannotComputeError(f"{name} gave status {status}")

    do(
        "nvrtcCreateProgram", ctypes.byref(program), source.encode(), b"kernel.cu",
        ctypes.c_int(0), None, None,
    )  # fmt: skip
    option = (ctypes.c_char_p * 1)(f"--gpu-architecture={architecture}".encode())
    do("nvrtcCompileProgram", program, ctypes.c_int(1), option)
    size = ctypes.c_size_t()
    do("nvrtcGetCUBINSize", program, ctypes.byref(size))
    image = ctypes.create_string_buffer(size.value)
    do("nvrtcGetCUBIN", program, image)
    do("nvrtcDestroyProgram", ctypes.byref(program))
    return image.raw
