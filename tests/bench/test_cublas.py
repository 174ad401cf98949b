from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import Any, cast

import pytest

from mltune.bench.contestant import CannotComputeError, NotPresentError
from mltune.bench.cublas import MODES, CuBLASProduct
from mltune.bench.cuda import Cuda
from mltune.bench.task import Array, Task
from mltune.problem import Precision, gemm_problem, parse_problem_type


class Device:
    """A CUDA device with room for some arrays."""

    architecture = "sm_90"

    def __init__(self, room: int) -> None:
        self._room = room
        self.kept: list[Any] = []

    def upload(self, array: Array) -> ctypes.c_void_p:
        if len(self.kept) == self._room:
            raise CannotComputeError("cudaMalloc: out of memory")
        self.kept.append(ctypes.c_void_p())
        return cast(ctypes.c_void_p, self.kept[-1])

    def free(self, pointer: ctypes.c_void_p) -> None:
        self.kept = [each for each in self.kept if each is not pointer]

    def wait(self) -> None:
        pass


def product(device: Device, status: int = 0, problem_type: str = "sgemm_nn") -> CuBLASProduct:
    library = SimpleNamespace(cublasGemmEx=lambda *arguments: status)
    task = Task.draw(gemm_problem(parse_problem_type(problem_type), 8, 4, 2), seed=1)
    return CuBLASProduct(cast(Cuda, device), cast(ctypes.CDLL, library), ctypes.c_void_p(), task)


def test_what_cublas_refuses_leaves_nothing_on_the_device() -> None:
    device = Device(room=3)

    product(device).close()
    assert not device.kept
    with pytest.raises(CannotComputeError, match="cuBLAS refused with status 15"):
        product(device, status=15)
    assert not device.kept


def test_arrays_without_room_leave_nothing_on_the_device() -> None:
    device = Device(room=2)

    with pytest.raises(CannotComputeError, match="out of memory"):
        product(device)
    assert not device.kept


def test_an_epilogue_that_nothing_compiles_is_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    def compiled(source: str, architecture: str) -> bytes:
        raise NotPresentError("not installed: no libnvrtc.so found")

    monkeypatch.setattr("mltune.bench.cuda_kernel._compiled", compiled)
    device = Device(room=3)

    with pytest.raises(CannotComputeError, match="libnvrtc"):
        product(device, problem_type="sgemm_nn_relu")
    assert not device.kept


def test_what_is_said_of_tf32_is_said_of_single_precision_only() -> None:
    assert set(MODES) == set(Precision)
    for precision, mode in MODES.items():
        is_single = precision in (Precision.SINGLE, Precision.COMPLEX_SINGLE)
        assert ("TF32" in mode) is is_single
