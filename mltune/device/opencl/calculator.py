"""Draws the numbers of a problem on the device, and multiplies them in double precision.

The kernel is the simplest one that is not slow: operands are copied into panels of doubles padded
with zeros, so that one kernel without special cases multiplies them all. The results are not
trusted without a proof: see `mltune.runner.proof`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product as every
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl

from mltune.device.calculator import VECTORS, Matrices, Pairs, Sums
from mltune.device.errors import BuildError, DeviceLostError, LaunchError
from mltune.device.opencl.quiet import built
from mltune.device.opencl.raising import raising
from mltune.device_info import DeviceInfo

Array = np.ndarray[Any, np.dtype[Any]]

_GROUP = 16
_DEPTH = 16
_LOCAL_BYTES = 1 << 15  # of a work-group that multiplies complex numbers
_TILE = {1: (8, 4), 2: (4, 4)}  # elements of C per work-item, by the parts of a number
_LARGEST_SIDE = 4096  # of a block of the product
_PANEL_NUMBERS = 1 << 23
_MEMORY_SHARE = 64  # panels may take 1 / this of the device's memory
_LEAST_TERMS = 256  # of a sum, that justify a further work-group
_GROUPS_PER_UNIT = 4
_MOST_GROUPS = 65535  # along the second and third dimension in CUDA; OpenCL on an H200 takes more
_MOST_ROUNDED = 1 << 26  # buffers below twice this are rounded up to a power of 2
_ITEMS = 1 << 16
_REALS = {2: "half", 4: "float", 8: "double"}
_WORDS = {2: "ushort", 4: "uint", 8: "ulong"}
_U, _L, _D = np.uint32, np.uint64, np.float64
_VIEW = (None, _L, None, _U, _U, _U)
_ARGUMENTS: dict[str, dict[str, tuple[Any, ...]]] = {
    "numbers.cl": {
        "draw": (None, _L, None, _U, _L, _L, _U),
        "look": (None, _L, None, _U, None, None),
        "along": (*_VIEW, _L, _L, _L, _L, _U, _D, None, _L, _L, None),
        "add_shares": (None, _L, _U),
    },
    "product.cl": {
        "unpack": (*_VIEW, _D, _L, _L, _L, _U, _U, None),
        "multiply": (None, None, _U, _U, _U, _U, None),
        "finish": (None, _L, _L, _U, *[_D] * 4, _U, *_VIEW, None, *_VIEW[2:], *[_L] * 3, _U, _U),
    },
}  # for each file, the kernels' names and the types of their numbers; None is a buffer


def can_calculate(info: DeviceInfo) -> bool:
    """Whether a device supports the work-groups of these kernels."""
    return info.takes_group((_GROUP, _GROUP, 1)) and info.local_mem_bytes >= _LOCAL_BYTES


class OpenCLCalculator:
    """Calculates with tensors of one type on one device; for use by one thread."""

    def __init__(self, context: cl.Context, queue: cl.CommandQueue, dtype: str) -> None:
        """Build the kernels.

        Raises:
            BuildError: when the driver cannot; `multiply` may raise it, too.
        """
        self._context, self._queue = context, queue
        self._dtype = np.dtype(dtype)
        self._parts = 2 if self._dtype.kind == "c" else 1
        self._wide = np.dtype(np.complex128 if self._parts == 2 else np.float64)
        device = context.devices[0]
        self._units = device.max_compute_units
        most = min(device.global_mem_size // _MEMORY_SHARE, device.max_mem_alloc_size)
        self._panel_numbers = min(_PANEL_NUMBERS, most // 16) // self._parts
        self._kernels: dict[str, cl.Kernel] = {}
        self._build("numbers.cl")
        self._dims: dict[tuple[Pairs, Pairs, Pairs], cl.Buffer] = {}
        self._memory: dict[str, cl.Buffer] = {}
        self._retired: list[cl.Buffer] = []

    def draw(self, tensor: Matrices, key: int | None) -> None:
        """Write the numbers of a stream to a tensor's elements; returns at once."""
        count = tensor.counts[1]
        self._run(
            "draw", (min(_ITEMS * 4, _rounded(count, 64)),), (64,),
            tensor.buffer, tensor.first, self._dims_of(tensor),
            len(tensor.rows), count, key or 0,
            key is None,
        )  # fmt: skip

    def look(self, tensor: Matrices, numbers: Array) -> Array:
        """Wait, and return single elements in double, by their numbers among the rows."""
        count = len(numbers)
        found = np.empty(count, self._wide)
        where = self._given("numbers", numbers.astype(np.uint64))
        out = self._room("found", found.nbytes)
        self._run(
            "look", (count,), None,
            tensor.buffer, tensor.first, self._dims_of(tensor),
            len(tensor.rows), where, out,
        )  # fmt: skip
        self._checked(partial(cl.enqueue_copy, is_blocking=True), self._queue, found, out)
        return found

    def along(self, matrices: Matrices, vectors: Array) -> Sums:
        """Wait, and return the sums over every row of every matrix, in double precision."""
        batch, rows, columns = matrices.counts
        all_rows = batch * rows
        sums = VECTORS * self._parts + 2
        groups = -(-all_rows // _GROUP)
        wanted = -(-self._units * _GROUPS_PER_UNIT * 4 // groups)
        shares = max(1, min(wanted, columns // (_GROUP * _GROUP), _MOST_GROUPS))
        share = _rounded(-(-columns // shares), _GROUP)
        shares = -(-columns // share)
        out = self._room("along", 8 * sums * all_rows * shares)
        given = self._given("vectors", vectors.astype(self._wide))
        step = 0 if vectors.shape[1] == 1 else columns
        across = bool(matrices.columns) and (
            not matrices.rows or matrices.columns[0][1] < matrices.rows[0][1]
        )
        self._run(
            "along", (groups * _GROUP, shares * _GROUP), (_GROUP, _GROUP),
            *self._view(matrices), rows, all_rows, columns,
            share, across, -1 if matrices.conjugate else 1,
            given, step, vectors.shape[1] * columns, out,
        )  # fmt: skip
        count = sums * all_rows
        if shares > 1:
            self._run(
                "add_shares", (min(_ITEMS, _rounded(count, 64)),), (64,),
                out, count, shares,
            )  # fmt: skip
        found = np.empty((batch, rows, sums))
        self._checked(partial(cl.enqueue_copy, is_blocking=True), self._queue, found, out)
        products = np.ascontiguousarray(found[..., :-2]).view(self._wide)
        return Sums(
            products=np.moveaxis(products, -1, 0),
            squares=found[..., -2],
            largest=np.sqrt(found[..., -1]),
        )

    def multiply(
        self,
        a: Matrices,
        b: Matrices,
        c: Matrices,
        right: Matrices,
        alpha: complex,
        beta: complex,
    ) -> None:
        """Calculate `right = alpha * a * b^T + beta * c` of each matrix; returns at once."""
        if "multiply" not in self._kernels:
            self._build("product.cl")
        of_a, of_b = (_GROUP * each for each in _TILE[self._parts])
        batch, m, k = a.counts
        n = b.counts[1]
        m_block, n_block = min(m, _LARGEST_SIDE), min(n, _LARGEST_SIDE)
        m_padded, n_padded = _rounded(m_block, of_a), _rounded(n_block, of_b)
        widest = max(m_padded, n_padded)
        k_block = max(self._panel_numbers // widest // _DEPTH * _DEPTH, _DEPTH)
        k_padded = min(k_block, _rounded(k, _DEPTH))
        tiles = (m_padded // of_a) * (n_padded // of_b)
        most = min(self._panel_numbers // (widest * k_padded), _MOST_GROUPS)
        batches = max(1, min(batch, most))
        share = self._share(k_padded, tiles * batches, batches, m_padded * n_padded)
        shares = -(-k_padded // share)
        size = 8 * self._parts * batches
        panel_a = self._room("a", size * k_padded * m_padded)
        panel_b = self._room("b", size * k_padded * n_padded)
        sums = self._room("sums", size * shares * m_padded * n_padded)
        scalars = alpha.real, alpha.imag, beta.real, beta.imag
        for at, count in _blocks(batch, batches):
            for (i, rows), (j, columns) in every(_blocks(m, m_block), _blocks(n, n_block)):
                for term, terms in _blocks(k, k_padded):
                    for matrices, row, number, padded, panel in (
                        (a, i, rows, m_padded, panel_a),
                        (b, j, columns, n_padded, panel_b),
                    ):
                        self._run(
                            "unpack", (padded, k_padded, count), (_GROUP, _GROUP, 1),
                            *self._view(matrices),
                            -1 if matrices.conjugate else 1,
                            at, row, term,
                            number, terms, panel,
                        )  # fmt: skip
                    self._run(
                        "multiply",
                        (m_padded // of_a * _GROUP, n_padded // of_b * _GROUP, count * shares),
                        (_GROUP, _GROUP, 1),
                        panel_a, panel_b, k_padded, share,
                        shares, term > 0, sums,
                    )  # fmt: skip
                self._run(
                    "finish", (_rounded(rows, _GROUP), _rounded(columns, _GROUP), count),
                    (_GROUP, _GROUP, 1), sums, m_padded, n_padded, shares, *scalars,
                    int(beta != 0), *self._view(c), right.buffer, *self._view(right)[2:],
                    at, i, j, rows, columns,
                )  # fmt: skip

    def _share(self, terms: int, groups: int, batches: int, area: int) -> int:
        """Return the terms of a sum for each work-group, so that all compute units have work."""
        shares = min(
            -(-self._units * _GROUPS_PER_UNIT // groups),
            terms // _LEAST_TERMS,
            _MOST_GROUPS // batches,
            2 * self._panel_numbers // (area * batches),
        )
        return _rounded(-(-terms // max(shares, 1)), _DEPTH)

    def _view(self, matrices: Matrices) -> tuple[Any, ...]:
        ranks = map(len, (matrices.batch, matrices.rows, matrices.columns))
        return matrices.buffer, matrices.first, self._dims_of(matrices), *ranks

    def _dims_of(self, matrices: Matrices) -> cl.Buffer:
        key = matrices.batch, matrices.rows, matrices.columns
        if key not in self._dims:
            pairs = (*matrices.batch, *matrices.rows, *matrices.columns) or ((1, 1),)
            flags = cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR
            array = np.array(pairs, np.uint64)
            with raising(LaunchError, "no memory to calculate a reference"):
                self._dims[key] = cl.Buffer(self._context, flags, hostbuf=array)
        return self._dims[key]

    def _given(self, name: str, array: Array) -> cl.Buffer:
        """Upload numbers to memory that later numbers with this name may overwrite."""
        room = self._room(name, array.nbytes)
        self._checked(cl.enqueue_copy, self._queue, room, np.ascontiguousarray(array))
        return room

    def _room(self, name: str, nbytes: int) -> cl.Buffer:
        """Return memory with a name; it is not freed, as kernels still have it as an argument."""
        kept = self._memory.get(name)
        if kept is None or kept.size < nbytes:
            if kept is not None:
                self._retired.append(kept)
            nbytes = max(nbytes, 1 << min(nbytes - 1, _MOST_ROUNDED).bit_length())
            with raising(LaunchError, "no memory to calculate a reference"):
                kept = cl.Buffer(self._context, cl.mem_flags.READ_WRITE, nbytes)
            self._memory[name] = kept
        return kept

    def _run(
        self,
        name: str,
        items: tuple[int, ...],
        group: tuple[int, ...] | None,
        *arguments: Any,
    ) -> None:
        self._checked(self._kernels[name], self._queue, items, group, *arguments)

    def _checked(self, call: Any, *arguments: Any) -> None:
        with raising(DeviceLostError, "the device failed to calculate"):
            call(*arguments)

    def _build(self, file: str) -> None:
        """Build the kernels of a file."""
        real = _REALS[self._dtype.itemsize // self._parts]
        is_half = real == "half"
        rows, columns = _TILE[self._parts]
        definitions = {
            "REAL": real,
            "READ(p, n)": "vload_half(n, p)" if is_half else "(double)(p)[n]",
            "WRITE(x, p, n)": "vstore_half_rte(x, n, p)" if is_half else "(p)[n] = (x)",
            "WORD": _WORDS[self._dtype.itemsize // self._parts],
            "IS_WIDE": int(real == "double"),
            "PARTS": self._parts,
            "ROWS": rows,
            "COLUMNS": columns,
            "DEPTH": _DEPTH,
        }
        source = "".join(f"#define {name} {value}\n" for name, value in definitions.items())
        for name in ("tensor.cl", file):
            source += Path(__file__).with_name(name).read_text(encoding="utf-8")
        with raising(BuildError, "the driver cannot build the calculation"):
            program = built(self._context, source)
            for name, types in _ARGUMENTS[file].items():
                self._kernels[name] = kernel = cl.Kernel(program, f"mltune_{name}")
                # Without their types, pyopencl takes 10 us for each number.
                kernel.set_scalar_arg_dtypes(list(types))


def _rounded(number: int, step: int) -> int:
    return -(-number // step) * step


def _blocks(count: int, step: int) -> Iterator[tuple[int, int]]:
    """Yield each block's begin and length."""
    for begin in range(0, count, step):
        yield begin, min(step, count - begin)
