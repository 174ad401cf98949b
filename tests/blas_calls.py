"""Calls an exported C library like a BLAS, and compares each element with numpy."""

from __future__ import annotations

import ctypes
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl
from numpy.typing import NDArray

from mltune.export.c.arguments import arguments
from mltune.export.library import Library

SCALARS = (0.0, 1.0, -0.5, 1.75)
MOST_EXTENT = 70


class _Float2(ctypes.Structure):
    _fields_ = (("x", ctypes.c_float), ("y", ctypes.c_float))


class _Double2(ctypes.Structure):
    _fields_ = (("x", ctypes.c_double), ("y", ctypes.c_double))


ELEMENTS: dict[str, Any] = {
    "float16": ctypes.c_float,  # of factors
    "float32": ctypes.c_float,
    "float64": ctypes.c_double,
    "complex64": _Float2,
    "complex128": _Double2,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Matrix:
    """A matrix inside a larger buffer that is NaN everywhere else."""

    memory: NDArray[Any]
    offset: int
    ld: int
    shape: tuple[int, int]
    order: str

    @property
    def values(self) -> NDArray[Any]:
        """The matrix, as a view of the memory."""
        rows, columns = self.shape
        along, across = (1, self.ld) if self.order == "F" else (self.ld, 1)
        item = self.memory.itemsize
        return np.ndarray(
            (rows, columns),
            self.memory.dtype,
            self.memory.data,
            self.offset * item,
            (along * item, across * item),
        )


def check_calls(
    library: Library, shared: Path, queue: cl.CommandQueue, rng: random.Random, count: int
) -> None:
    """Make random calls: sizes, factors, offsets, leading dimensions, every kernel in turn.

    Raises:
        AssertionError: if a call fails, a result differs from numpy's by more than rounding may
            cause, or anything outside C is written.
    """
    loaded = ctypes.CDLL(str(shared))
    for number in range(count):
        _check_call(library, loaded, queue, rng, number % len(library.kernels))
    getattr(loaded, f"{library.name}_release")()


def _check_call(
    library: Library, loaded: ctypes.CDLL, queue: cl.CommandQueue, rng: random.Random, kernel: int
) -> None:
    contraction = library.selector.contraction
    dtype = np.dtype(contraction.precision.dtype)
    m, n, k = (rng.choice((1, rng.randint(2, MOST_EXTENT))) for _ in range(3))
    k = rng.choice((0, k, k, k, k))
    alpha, beta = (_scalar(rng, dtype) for _ in range(2))
    a, b, c = (
        _matrix(rng, dtype, shape, order)
        for shape, order in zip(((m, k), (k, n), (m, n)), library.orders, strict=True)
    )
    wanted = c.memory.copy()
    if beta == 0:
        c.values[:] = np.nan  # must not be read
    left = a.values.conj() if contraction.conjugate_a else a.values
    right = b.values.conj() if contraction.conjugate_b else b.values
    wide = np.result_type(dtype, np.float64)
    product = left.astype(wide) @ right.astype(wide)
    old = np.zeros((m, n), wide) if beta == 0 else beta * c.values.astype(wide)
    expected = _Matrix(memory=wanted, offset=c.offset, ld=c.ld, shape=c.shape, order=c.order)
    expected.values[:] = alpha * product + old

    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    buffers = [cl.Buffer(queue.context, flags, hostbuf=x.memory) for x in (a, b, c)]
    element = ELEMENTS[dtype.name]
    call = getattr(loaded, f"{library.name}_with")
    names = [name for _, name in arguments("", batched=False)]
    given = {
        "m": ctypes.c_int64(m),
        "n": ctypes.c_int64(n),
        "k": ctypes.c_int64(k),
        "alpha": _number(element, alpha),
        "beta": _number(element, beta),
        "queue": ctypes.c_void_p(queue.int_ptr),
        "num_events": ctypes.c_uint32(0),
        "wait_list": None,
        "event": None,
    }
    for name, matrix, buffer in zip("abc", (a, b, c), buffers, strict=True):
        given[name] = ctypes.c_void_p(buffer.int_ptr)
        given[f"offset_{name}"] = ctypes.c_int64(matrix.offset)
        given[f"ld{name}"] = ctypes.c_int64(matrix.ld)
    code = call(*(given[name] for name in names), ctypes.c_int(kernel))
    what = f"{library.name} {m}x{n}x{k} alpha={alpha} beta={beta} kernel {kernel}"
    assert code == 0, f"{what}: returns {code}"
    cl.enqueue_copy(queue, c.memory, buffers[2])

    bound = (abs(alpha) * (abs(left) @ abs(right)) + abs(old)) * (k + 4) * np.finfo(dtype).eps
    assert np.all(np.abs(c.values - expected.values) <= bound), f"{what}: wrong"
    c.values[:] = expected.values[:] = 0
    assert np.array_equal(c.memory, wanted, equal_nan=True), f"{what}: writes outside C"


def _matrix(
    rng: random.Random, dtype: np.dtype[Any], shape: tuple[int, int], order: str
) -> _Matrix:
    length, count = shape if order == "F" else shape[::-1]
    ld, offset = max(length, 1) + rng.choice((0, 0, 1, 3, 4)), rng.choice((0, 1, 4, 9))
    memory = np.full(offset + ld * count + rng.choice((1, 5)), np.nan, dtype)
    matrix = _Matrix(memory=memory, offset=offset, ld=ld, shape=shape, order=order)
    source = np.random.default_rng(rng.getrandbits(32))
    matrix.values[:] = source.standard_normal(shape)
    if dtype.kind == "c":
        matrix.values[:] += 1j * source.standard_normal(shape).astype(dtype)
    return matrix


def _scalar(rng: random.Random, dtype: np.dtype[Any]) -> complex:
    if dtype.kind != "c":
        return rng.choice(SCALARS)
    return complex(rng.choice(SCALARS), rng.choice((0.0, 0.0, -1.25)))


def _number(element: Any, value: complex) -> Any:
    if issubclass(element, ctypes.Structure):
        return element(value.real, value.imag)
    return element(value)
