"""Calls an exported library of several problem types, and compares with numpy."""

from __future__ import annotations

import ctypes
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl
from numpy.typing import NDArray

SCALARS = (0.0, 1.0, -0.5, 1.75)
MOST_EXTENT = 60
DTYPES = {"h": "float16", "s": "float32", "d": "float64", "c": "complex64", "z": "complex128"}
NOT_HELD = 100_000
BEGUN = 200_000

Array = NDArray[Any]


def check_set_calls(
    shared: Path, name: str, queue: cl.CommandQueue, rng: random.Random, count: int
) -> set[str]:
    """Make random calls of any problem type in any order, for one product or a batch.

    Returns:
        The problem types that the library lacks, by precision and transposes.

    Raises:
        AssertionError: if a call fails, a result differs from numpy's by more than rounding may
            cause, or anything outside C is written.
    """
    loaded = ctypes.CDLL(str(shared))
    lacking = set()
    for _ in range(count):
        precision, order = rng.choice("hsdcz"), rng.choice("crCR")
        trans = rng.choice("nNtTcC") + rng.choice("nNtTcC")
        if not _check_call(loaded, name, queue, rng, (precision, order, trans)):
            lacking.add(f"{precision}{order}{trans}".lower())
    getattr(loaded, f"{name}_release")()
    return lacking


def _check_call(
    loaded: ctypes.CDLL,
    name: str,
    queue: cl.CommandQueue,
    rng: random.Random,
    what: tuple[str, str, str],
) -> bool:
    precision, order, trans = what
    dtype = np.dtype(DTYPES[precision])
    m, n, k = (rng.choice((1, rng.randint(2, MOST_EXTENT))) for _ in range(3))
    k = rng.choice((0, k, k, k))
    batch = rng.choice((1, 1, 2, 3))
    row_major = order in "rR"
    shapes = [
        (k, m) if trans[0] not in "nN" else (m, k),
        (n, k) if trans[1] not in "nN" else (k, n),
        (m, n),
    ]
    matrices = [_matrix(rng, dtype, shape, row_major, batch) for shape in shapes]
    (memory_a, a, _), (memory_b, b, _), (memory_c, c, _) = matrices
    alpha, beta = (rng.choice(SCALARS) for _ in range(2))
    wide = np.result_type(dtype, np.float64)
    left, right = (
        _operand(x.astype(wide), letter) for x, letter in zip((a, b), trans, strict=True)
    )
    old = beta * c.astype(wide)
    if beta == 0:
        old = np.zeros_like(old)
        c[:] = np.nan
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    buffers = [cl.Buffer(queue.context, flags, hostbuf=x) for x in (memory_a, memory_b, memory_c)]
    factor = {"h": np.float32}.get(precision, dtype.type)
    factors = [np.array([x], factor) for x in (alpha, beta)]
    places = [
        [ctypes.c_void_p(buffer.int_ptr), *map(ctypes.c_int64, layout)]
        for buffer, (_, _, layout) in zip(buffers, matrices, strict=True)
    ]
    code = getattr(loaded, f"{name}_gemm")(
        *(ctypes.c_char(letter.encode()) for letter in (precision, order, *trans)),
        *map(ctypes.c_int64, (m, n, k, batch)),
        factors[0].ctypes.data_as(ctypes.c_void_p), *places[0], *places[1],
        factors[1].ctypes.data_as(ctypes.c_void_p), *places[2],
        ctypes.c_void_p(queue.int_ptr), ctypes.c_uint32(0), None, None,
    )  # fmt: skip
    if code == NOT_HELD:
        return False
    asked = f"{precision}gemm {trans} {order} {m}x{n}x{k}x{batch} alpha={alpha} beta={beta}"
    assert code == 0, f"{asked}: returns {code}"
    expected = memory_c.copy()
    cl.enqueue_copy(queue, memory_c, buffers[2])
    result = c.astype(wide)
    limits = np.finfo(dtype)
    bound = (abs(alpha) * (abs(left) @ abs(right)) + abs(old)) * (k + 4) * limits.eps
    bound += limits.smallest_subnormal
    wrong = abs(result - (alpha * (left @ right) + old)) > bound
    assert not np.any(wrong | np.isnan(result)), f"{asked}: wrong"
    c[:] = 0
    kept = memory_c.copy()
    memory_c[:] = expected
    c[:] = 0
    assert np.array_equal(kept, memory_c, equal_nan=True), f"{asked}: writes outside C"
    return True


def _operand(x: Array, letter: str) -> Array:
    if letter in "nN":
        return x
    transposed = x.swapaxes(1, 2)
    return transposed.conj() if letter in "cC" else transposed


def _matrix(
    rng: random.Random, dtype: np.dtype[Any], shape: tuple[int, int], row_major: bool, batch: int
) -> tuple[Array, Array, tuple[int, int, int]]:
    """Memory full of NaN, a view of the matrices in it (batch first), offset, ld and stride."""
    length, runs = shape[::-1] if row_major else shape
    ld, offset = max(length, 1) + rng.choice((0, 0, 1, 4)), rng.choice((0, 1, 4))
    stride = ld * runs + rng.choice((0, 3))
    memory = np.full(offset + stride * batch + 1, np.nan, dtype)
    along, across = (ld, 1) if row_major else (1, ld)
    item = dtype.itemsize
    view: Array = np.ndarray(
        (batch, *shape), dtype, memory.data, offset * item,
        (stride * item, along * item, across * item),
    )  # fmt: skip
    source = np.random.default_rng(rng.getrandbits(32))
    view[:] = source.standard_normal(view.shape)
    if dtype.kind == "c":
        view[:] += 1j * source.standard_normal(view.shape).astype(dtype)
    return memory, view, (offset, ld, stride)
