"""Launches GEMM kernels on pyopencl arrays: checks, memory orders, a cache of built kernels.

This file needs only numpy, pyopencl and `building`, because `mltune export --lang python` copies
both into every package that it writes.
"""

from __future__ import annotations

import ctypes
import itertools
import numbers
import operator
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array
from pyopencl import _cl

from mltune.runtime.building import BuildError, build

_KEPT_PLANS = 4096

_PLAIN_NUMBERS = (float, int)
_WHOLE = cl.mem_info.ASSOCIATED_MEMOBJECT
_OVERLAP_WORK = 100_000  # candidates that numpy tries, in some milliseconds

SIZE_LIMIT = 2**31
"""Kernels count rows, columns and terms with 32 bits; every size must be below this."""


class GemmError(ValueError):
    """The arguments of a call do not fit together, or are not supported by the kernels."""


class KernelError(GemmError):
    """A kernel does not build for a device, or needs more local memory than the device has.

    Attributes:
        number: the kernel's.
    """

    def __init__(self, message: str, number: int) -> None:
        super().__init__(message)
        self.number = number


Geometry = Callable[[int, int, int, int, int], tuple[tuple[tuple[int, int, int], ...], int, int]]
"""Computes a launch: the global size of each pass, 0 where there is nothing to start, and the
bytes of scratch memory and of counters.

Its arguments are the rows and columns of a column-major C, the terms of a sum (1 if there are
none), the products of a batch, and the device's compute units.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class GemmKernel:
    """An OpenCL kernel, and how to launch it.

    Attributes:
        passes: launched one after the other, all with the same arguments: the name and the
            work-group of each.
        arguments: in order: the matrices `c`, `a` and `b`, the factors `alpha` and `beta`, `uint`
            and `ulong` for the next integer, a `bias` and the limits `low` and `high` of results,
            `scratch` for memory in which work-groups exchange partial sums, and `counters` for
            memory that is zero.
        integers: computes the integers, given the `rows` and `columns` of a column-major C, the
            `terms` of a sum, of each matrix `offset_a`, `ld_a` and `batch_stride_a`, and
            `offset_bias` where there is a bias.
        geometry: computes global sizes and memory of a launch.
        counts_units: whether the geometry asks for the device's compute units.
        two_steps: whether PTX instructions stand in comments that begin with `//@ `, so that the
            result of the first build must be built again without these marks.
    """

    name: str
    source: str
    build_options: tuple[str, ...]
    passes: tuple[tuple[str, tuple[int, int, int]], ...]
    arguments: tuple[str, ...]
    integers: Callable[..., tuple[int, ...]]
    geometry: Geometry
    counts_units: bool = False
    two_steps: bool = False

    @property
    def has_scratch(self) -> bool:
        """Whether it takes scratch memory."""
        return "scratch" in self.arguments

    @property
    def has_counters(self) -> bool:
        """Whether it takes counters."""
        return "counters" in self.arguments


@dataclass(frozen=True, slots=True, kw_only=True)
class GemmType:
    """The problem type of the kernels, and how its matrices lie in memory.

    Attributes:
        name: such as `sgemm_nt`, for messages.
        orders: of A (m x k), B (k x n) and C (m x n), one letter each as in numpy: `F` where
            neighbours in a column are neighbours in memory, `C` where those in a row are.
        conjugate: whether A's and B's elements are conjugated.
        bias: `m` where a number is added to each row of C, `n` to each column; empty for none.
        clamps: whether results are limited to a range.
    """

    name: str
    dtype: str
    orders: str
    batched: bool = False
    conjugate: tuple[bool, bool] = (False, False)
    bias: str = ""
    clamps: bool = False

    def exchanged(self) -> GemmType | None:
        """Return the same kernels for row-major C^T = B^T A^T; None if they conjugate an operand.

        So kernels for column-major matrices serve row-major ones. They do not if there is a bias:
        it would be added along the other side, and for a square C nothing would show the mistake.
        """
        if self.conjugate[0] != self.conjugate[1] or self.bias:
            return None
        a, b, c = ({"F": "C", "C": "F"}[order] for order in self.orders)
        return replace(self, orders=b + a + c)


@dataclass(frozen=True, slots=True)
class _Sizes:
    m: int
    n: int
    k: int
    batch: int


# Plain tuples, as they are made at every call: a named one takes ten times as long.
_Memory = tuple[int, int, int]
"""Where a buffer lies: the buffer that it is a part of, at which byte it begins, and its bytes."""

_Described = tuple[np.dtype[Any], tuple[int, ...], tuple[int, ...], int, int]
"""The fields of an `_Array`."""


class _Array(NamedTuple):
    """How an array's elements lie in its buffer of `room` bytes; strides and offset in bytes."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    room: int

    @property
    def end(self) -> int:
        """The byte behind the last element."""
        steps = zip(self.shape, self.strides, strict=True)
        return (
            self.offset
            + self.dtype.itemsize
            + sum((extent - 1) * stride for extent, stride in steps)
        )


@dataclass(frozen=True, slots=True)
class _Plan:
    """What a launch needs, as far as it follows from the arrays' shapes and places.

    Attributes:
        number: the kernel's.
        swaps: whether B comes before A among the kernel's arguments.
        integers: the arguments that are integers.
        global_sizes: one for each of the kernel's passes; 0 where there is nothing to start.
        scratch_bytes: of memory that the passes share.
        counter_bytes: of memory for counters.
    """

    number: int
    swaps: bool
    integers: tuple[int, ...]
    global_sizes: tuple[tuple[int, int, int], ...]
    scratch_bytes: int
    counter_bytes: int


@dataclass(frozen=True, slots=True, eq=False)
class _Scratch:
    """Scratch memory of a queue; each launch waits for the one that used it last.

    Kernels find the counters at zero, and set them to zero again.
    """

    queue: cl.CommandQueue  # kept alive, so that no other queue can get its pointer
    buffer: cl.Buffer
    counters: cl.Buffer | None = None
    last: cl.Event | None = None


class Launcher:
    """Computes c = alpha * a @ b + beta * c, and an epilogue, with one of several kernels.

    Any number of threads may share one: a lock guards the built kernels, because an OpenCL
    kernel object keeps its arguments from one call to the next.
    """

    def __init__(
        self,
        gemm_type: GemmType,
        kernels: Sequence[GemmKernel],
        select: Callable[[int, int, int, int], int],
    ) -> None:
        self._type = gemm_type
        self._scalar = np.dtype(gemm_type.dtype).type
        self._kernels = tuple(kernels)
        self._select = select
        self._built: dict[tuple[int, int, int], tuple[cl.Kernel, ...]] = {}
        self._scratch: dict[int, _Scratch] = {}
        self._lock = threading.Lock()
        self._asks_units = any(kernel.counts_units for kernel in kernels)
        self._ordered = tuple(_order(kernel.arguments) for kernel in kernels)
        # Programs often call with the same few arrays.
        self._planned = lru_cache(maxsize=_KEPT_PLANS)(self._plan)

    def gemm(
        self,
        queue: cl.CommandQueue,
        a: cl_array.Array,
        b: cl_array.Array,
        c: cl_array.Array | None = None,
        *,
        alpha: complex = 1.0,
        beta: complex = 0.0,
        bias: cl_array.Array | None = None,
        low: float | None = None,
        high: float | None = None,
        kernel: int | None = None,
        wait_for: Sequence[cl.Event] | None = None,
    ) -> tuple[cl_array.Array, cl.Event]:
        """Enqueue c = alpha * a @ b + beta * c.

        Args:
            queue: where to enqueue; its device computes.
            a: m x k, with a batch dimension in front if the kernels are batched.
            b: k x n, likewise.
            c: m x n, likewise; made if left out, and then beta must be 0. It must share no element
                with a or b.
            alpha: factor of the product; a and b are not read if this is 0.
            beta: factor of the old c, which is not read if this is 0.
            bias: the numbers to add to rows or columns, contiguous in memory; must be given if and
                only if the kernels add one. It must share no element with c.
            low: the lower limit, if the kernels limit results.
            high: the upper limit, likewise.
            kernel: the number of the kernel to use; None to choose one by size.
            wait_for: events to wait for, in addition to the arrays' own.

        Returns:
            c, and the event of the computation.

        Raises:
            GemmError: when types, shapes or memory orders do not fit, an array ends beyond its
                buffer, or c shares memory with a, b or the bias.
            KernelError: when the kernel does not build for the device.
        """
        c, events = self.enqueue(
            queue,
            a,
            b,
            c,
            alpha=alpha,
            beta=beta,
            bias=bias,
            low=low,
            high=high,
            kernel=kernel,
            wait_for=wait_for,
        )
        return c, events[-1]

    def enqueue(
        self,
        queue: cl.CommandQueue,
        a: cl_array.Array,
        b: cl_array.Array,
        c: cl_array.Array | None = None,
        *,
        alpha: complex = 1.0,
        beta: complex = 0.0,
        bias: cl_array.Array | None = None,
        low: float | None = None,
        high: float | None = None,
        kernel: int | None = None,
        wait_for: Sequence[cl.Event] | None = None,
        watched: bool = True,
    ) -> tuple[cl_array.Array, tuple[cl.Event, ...]]:
        """Do what `gemm` does, and return c with the events of all the kernel's passes.

        Without `watched` there are no events on a queue that is in order, as each takes NVIDIA's
        driver 2 us. The caller then has to know when c is done.
        """
        if not isinstance(queue, cl.CommandQueue):
            kind = type(queue).__name__
            raise self._error(f"queue must be a pyopencl command queue, got {kind}")
        number = None if kernel is None else self._number(kernel)
        waits = () if wait_for is None else self._waits(wait_for)
        factors = self._factor("alpha", alpha), self._factor("beta", beta)
        if c is None and factors[1] != 0:
            raise self._error(f"c must be given, as beta is {beta}")
        limits = self._limits(low, high)
        memory_a, memory_b = self._memory("a", a), self._memory("b", b)
        memory_bias = self._memory_of_bias(bias)
        described_a, described_b = _described(a, memory_a), _described(b, memory_b)
        if c is None:
            c = self._empty(queue, _Array(*described_a), _Array(*described_b))
        memory_c = self._memory("c", c)
        # If alpha is 0 there are no terms, so that no kernel reads a and b.
        units = queue.device.max_compute_units if self._asks_units else 0
        plan = self._planned(
            described_a,
            described_b,
            _described(c, memory_c),
            None if bias is None else _described(bias, memory_bias),
            (
                _distance(memory_a, memory_c),
                _distance(memory_b, memory_c),
                _distance(memory_bias, memory_c),
            ),
            factors[0] != 0,
            number,
            units,
        )
        events = [*waits, *a.events, *b.events, *c.events]
        if bias is not None:
            events += bias.events
        if plan is None:
            return c, (cl.enqueue_marker(queue, events),)
        start = _launched if watched or _is_out_of_order(queue) else _launched_unwatched
        launched = self._launch(queue, plan, (a, b, c), bias, (*factors, *limits), events, start)
        if launched:
            c.add_event(launched[-1])
        return c, launched

    def asks(
        self, a: cl_array.Array, b: cl_array.Array, c: cl_array.Array | None = None
    ) -> tuple[int, int, int, int]:
        """Return the m, n, k and batch that `select` is called with for some arrays.

        Raises:
            GemmError: as `gemm`.
        """
        given = {"a": a, "b": b} | ({} if c is None else {"c": c})
        arrays = [
            _Array(*_described(each, self._memory(name, each))) for name, each in given.items()
        ]
        sizes, layout = self._sizes(*arrays), self._layout(*arrays)
        if layout == self._type:
            return sizes.m, sizes.n, sizes.k, sizes.batch
        return sizes.n, sizes.m, sizes.k, sizes.batch  # the kernel computes the transpose

    def release(self) -> None:
        """Forget the built kernels and scratch memory, and with them their contexts."""
        with self._lock:
            self._built.clear()
            self._scratch.clear()

    def is_built(self, queue: cl.CommandQueue, number: int) -> bool:
        """Whether a kernel can be launched on a queue without building it."""
        return (queue.context.int_ptr, queue.device.int_ptr, number) in self._built

    def forget_plans(self) -> None:
        """Let the next call of each size choose its kernel again."""
        self._planned.cache_clear()

    def _memory(self, name: str, array: cl_array.Array) -> _Memory:
        """Return where an array's data lies: in a buffer, or in shared virtual memory."""
        if not isinstance(array, cl_array.Array):
            kind = type(array).__name__
            raise self._error(f"{name} must be a pyopencl array, got {kind}")
        data: Any = array.base_data
        if data is None:  # an empty array has none
            return -1, 0, 0
        if not isinstance(data, cl.MemoryObjectHolder):
            return 0, data.svm_ptr, data.size
        whole: Any = data.get_info(_WHOLE)
        if whole is None:
            return data.int_ptr, 0, data.size
        return whole.int_ptr, data.offset, data.size

    def _memory_of_bias(self, bias: cl_array.Array | None) -> _Memory:
        """Return where a bias lies; None if the kernels add none."""
        if bias is not None and not self._type.bias:
            raise self._error("bias must be left out: none is added")
        if bias is None and self._type.bias:
            raise self._error(f"bias must be given, with {self._type.bias} elements")
        return (-1, 0, 0) if bias is None else self._memory("bias", bias)

    def _limits(self, low: float | None, high: float | None) -> tuple[Any, Any]:
        if not self._type.clamps:
            if low is not None or high is not None:
                raise self._error("low and high must be left out: results have no limits")
            return None, None
        if low is None or high is None:
            raise self._error("low and high must be given")
        limits = self._factor("low", low), self._factor("high", high)
        if not limits[0] <= limits[1]:
            raise self._error(f"low must not be above high, got {low} and {high}")
        return limits

    def _plan(
        self,
        described_a: _Described,
        described_b: _Described,
        described_c: _Described,
        described_bias: _Described | None,
        distances: tuple[int | None, int | None, int | None],
        reads_ab: bool,
        kernel: int | None,
        units: int,
    ) -> _Plan | None:
        """Check the arrays, choose a kernel and place its arguments; None if C is empty.

        Args:
            described_a: the array a.
            described_b: the array b.
            described_c: the array c.
            described_bias: the bias; None if none is added.
            distances: of a's, b's and the bias's buffers from c's, in bytes; None if the memory is
                another one.
            reads_ab: whether alpha is not zero.
            kernel: its number, or None to choose one.
            units: of the device.
        """
        a, b, c = _Array(*described_a), _Array(*described_b), _Array(*described_c)
        sizes = self._sizes(a, b, c)
        layout = self._layout(a, b, c)
        if 0 in (sizes.m, sizes.n, sizes.batch):
            return None
        self._check_room("c", c)
        if sizes.k > 0 and reads_ab:
            for name, array, distance in zip("ab", (a, b), distances, strict=False):
                self._check_read(name, array, c, distance)
        bias = None if described_bias is None else _Array(*described_bias)
        if bias is not None:
            self._check_bias(bias, sizes)
            self._check_read("bias", bias, c, distances[2])
        number = self._choose(sizes, layout) if kernel is None else kernel
        operands = {"c": (c, layout.orders[2]), "a": (a, layout.orders[0])}
        operands["b"] = (b, layout.orders[1])
        rows, columns = sizes.m, sizes.n
        swaps = layout.orders[2] == "C"  # a row-major C is a column-major C^T
        if swaps:
            rows, columns = columns, rows
            operands["a"], operands["b"] = operands["b"], operands["a"]
        terms = sizes.k if reads_ab else 0
        values = {"rows": rows, "columns": columns, "terms": terms}
        for name, operand in operands.items():
            values |= _place(name, *operand)
        if bias is not None:
            values["offset_bias"] = bias.offset // bias.dtype.itemsize
        chosen = self._kernels[number]
        return _Plan(
            number,
            swaps,
            chosen.integers(**values),
            *chosen.geometry(rows, columns, max(1, terms), sizes.batch, units),
        )

    def _choose(self, sizes: _Sizes, layout: GemmType) -> int:
        if layout == self._type:
            return self._select(sizes.m, sizes.n, sizes.k, sizes.batch)
        # The kernel computes the transpose, an n x m matrix.
        return self._select(sizes.n, sizes.m, sizes.k, sizes.batch)

    def _check_bias(self, bias: _Array, sizes: _Sizes) -> None:
        wanted = sizes.m if self._type.bias == "m" else sizes.n
        itemsize = bias.dtype.itemsize
        if bias.dtype != self._type.dtype:
            raise self._error(f"bias must be {self._type.dtype}, got {bias.dtype}")
        if bias.shape != (wanted,):
            raise self._error(
                f"bias must be ({wanted},), a number for each "
                f"{'row' if self._type.bias == 'm' else 'column'} of c, got {bias.shape}"
            )
        if bias.offset % itemsize or (wanted > 1 and bias.strides != (itemsize,)):
            raise self._error(f"bias must be contiguous, got strides of {bias.strides} bytes")

    def _check_read(self, name: str, array: _Array, c: _Array, distance: int | None) -> None:
        self._check_room(name, array)
        if distance is not None and _share(array, c, distance):
            raise self._error(f"c must not share memory with {name}, which is read")

    def _sizes(self, a: _Array, b: _Array, c: _Array | None = None) -> _Sizes:
        arrays = {"a": a, "b": b} | ({} if c is None else {"c": c})
        wanted = ("batch", "rows", "columns") if self._type.batched else ("rows", "columns")
        for name, array in arrays.items():
            if array.dtype != self._type.dtype:
                raise self._error(f"{name} must be {self._type.dtype}, got {array.dtype}")
            if len(array.shape) != len(wanted):
                raise self._error(f"{name} must be ({', '.join(wanted)}), got {array.shape}")
        (*lead, m, k), n = a.shape, b.shape[-1]
        if b.shape != (*lead, k, n):
            raise self._error(f"b must be {(*lead, k, 'n')} beside a {a.shape}, got {b.shape}")
        if c is not None and c.shape != (*lead, m, n):
            raise self._error(f"c must be {(*lead, m, n)}, got {c.shape}")
        if max(m, n, k) >= SIZE_LIMIT:
            raise self._error(f"sizes must be below 2^31, got {m}x{n}x{k}")
        return _Sizes(m, n, k, lead[0] if lead else 1)

    def _number(self, kernel: Any) -> int:
        most = len(self._kernels) - 1
        try:
            number = operator.index(kernel)
        except TypeError as error:
            raise self._error(
                f"kernel must be a number from 0 to {most}, got {type(kernel).__name__}"
            ) from error
        if not 0 <= number <= most:
            raise self._error(f"kernel must be a number from 0 to {most}, got {number}")
        return number

    def _waits(self, wait_for: Any) -> tuple[cl.Event, ...]:
        events = tuple(wait_for) if isinstance(wait_for, Iterable) else None
        wrong = [each for each in events or () if not isinstance(each, cl.Event)]
        if events is None or wrong:
            kind = type(wait_for if events is None else wrong[0]).__name__
            raise self._error(f"wait_for must be a sequence of events such as [event], got {kind}")
        return events

    def _factor(self, name: str, value: Any) -> Any:
        if not isinstance(value, _PLAIN_NUMBERS):
            if not isinstance(value, numbers.Number) and not _is_numeric(value):
                raise self._error(f"{name} must be a number, got {type(value).__name__}")
            if np.iscomplexobj(value) and not issubclass(self._scalar, np.complexfloating):
                raise self._error(f"{name} must be real, got {value}")
        try:
            return self._scalar(value)
        except (OverflowError, TypeError) as error:
            raise self._error(f"{name} must fit into {self._type.dtype}: {error}") from error

    def _empty(self, queue: cl.CommandQueue, a: _Array, b: _Array) -> cl_array.Array:
        """Make an array for the product of two arrays."""
        sizes, layout = self._sizes(a, b), self._layout(a, b)
        shape = (sizes.batch, sizes.m, sizes.n) if layout.batched else (sizes.m, sizes.n)
        itemsize = np.dtype(layout.dtype).itemsize
        matrix = (itemsize, itemsize * sizes.m)
        if layout.orders[2] == "C":
            matrix = (itemsize * sizes.n, itemsize)
        strides = (itemsize * sizes.m * sizes.n, *matrix) if layout.batched else matrix
        return cl_array.Array(queue, shape, layout.dtype, strides=strides)

    def _check_room(self, name: str, array: _Array) -> None:
        if array.offset < 0 or array.end > array.room:
            raise self._error(
                f"{name} must lie in its buffer of {array.room} bytes, "
                f"got bytes {array.offset} to {array.end} for {array.shape}"
            )

    def _layout(self, a: _Array, b: _Array, c: _Array | None = None) -> GemmType:
        """Return the memory orders of the arrays that the kernels support, tuned ones first."""
        arrays = {"a": a, "b": b} | ({} if c is None else {"c": c})
        if c is not None and _overlaps(c):
            raise self._error(f"c's elements overlap: {c.shape} by {c.strides} bytes")
        layouts = [layout for layout in (self._type, self._type.exchanged()) if layout]
        for layout in layouts:
            # without c, there is one order more
            pairs = zip(arrays.values(), layout.orders, strict=False)
            if all(_fits(array, order) for array, order in pairs):
                return layout
        orders = " or ".join(
            ", ".join(f"{name} {order}" for name, order in zip("abc", layout.orders, strict=True))
            for layout in layouts
        )
        strides = ", ".join(f"{name} {array.strides}" for name, array in arrays.items())
        raise self._error(
            f"memory orders must be {orders} (F: a column is contiguous, C: a row is), "
            f"got strides of {strides} bytes"
        )

    def _launch(
        self,
        queue: cl.CommandQueue,
        plan: _Plan,
        arrays: tuple[cl_array.Array, cl_array.Array, cl_array.Array],
        bias: cl_array.Array | None,
        factors: tuple[Any, Any, Any, Any],
        events: Sequence[cl.Event],
        start: _Start,
    ) -> tuple[cl.Event, ...]:
        kernel = self._kernels[plan.number]
        a, b, c = arrays
        operands = (c, b, a) if plan.swaps else (c, a, b)
        buffers = [operand.base_data for operand in operands]  # None where k is 0
        buffers.append(None if bias is None else bias.base_data)
        launched: list[cl.Event] = []
        with self._lock:
            functions = self._build(queue, plan.number)
            memories: tuple[Any, Any] = (None, None)
            if kernel.has_scratch:
                scratch = self._scratch_of(queue, plan.scratch_bytes)
                if kernel.has_counters:
                    scratch = _counting(scratch, plan.counter_bytes)
                memories = (scratch.buffer, scratch.counters)
                events = [*events, *([scratch.last] if scratch.last else [])]
            arguments = self._ordered[plan.number]((*buffers, *factors, *memories, *plan.integers))
            launches = zip(functions, plan.global_sizes, kernel.passes, strict=True)
            for function, global_size, (_, work_group) in launches:
                if 0 in global_size:
                    continue
                events = start(function, queue, global_size, work_group, arguments, events)
                launched += events
            if kernel.has_scratch:
                last = launched[-1] if launched else None
                self._scratch[queue.int_ptr] = replace(scratch, last=last)
        return tuple(launched)

    def _scratch_of(self, queue: cl.CommandQueue, nbytes: int) -> _Scratch:
        """Return the queue's scratch memory with at least this size; the lock must be held."""
        kept = self._scratch.get(queue.int_ptr)
        if kept is not None and kept.buffer.size >= nbytes:
            return kept
        # OpenCL keeps the smaller buffer until the kernels that use it have ended.
        buffer = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, nbytes)
        return _Scratch(queue, buffer) if kept is None else replace(kept, buffer=buffer)

    def _build(self, queue: cl.CommandQueue, number: int) -> tuple[cl.Kernel, ...]:
        """Return a kernel's passes for the queue's device; the lock must be held."""
        # A built kernel keeps its context alive, so no other context can get its pointer.
        key = (queue.context.int_ptr, queue.device.int_ptr, number)
        if key not in self._built:
            kernel = self._kernels[number]
            try:
                functions = build(
                    queue,
                    kernel.name,
                    kernel.source,
                    kernel.build_options,
                    [entry for entry, _ in kernel.passes],
                    two_steps=kernel.two_steps,
                )
            except BuildError as error:
                raise KernelError(f"{self._type.name}: {error}", number) from error
            factor = self._type.dtype
            types: dict[str, Any] = dict.fromkeys(("alpha", "beta", "low", "high"), factor)
            types |= {"uint": np.uint32, "ulong": np.uint64}
            for function in functions:
                # pyopencl passes numbers of known types in a tenth of the time.
                function.set_scalar_arg_dtypes([types.get(name) for name in kernel.arguments])
            self._built[key] = functions
        return self._built[key]

    def _error(self, message: str) -> GemmError:
        return GemmError(f"{self._type.name}: {message}")


_Extent = tuple[int, int, int]
_Start = Callable[
    [cl.Kernel, cl.CommandQueue, _Extent, _Extent, Sequence[Any], Sequence[cl.Event]],
    list[cl.Event],
]
"""Launches a kernel after some events, and returns its event; None if unwatched."""


def _launched(
    kernel: cl.Kernel,
    queue: cl.CommandQueue,
    global_size: _Extent,
    work_group: _Extent,
    arguments: Sequence[Any],
    events: Sequence[cl.Event],
) -> list[cl.Event]:
    return [kernel(queue, global_size, work_group, *arguments, wait_for=events)]


def _launched_unwatched(
    kernel: cl.Kernel,
    queue: cl.CommandQueue,
    global_size: _Extent,
    work_group: _Extent,
    arguments: Sequence[Any],
    events: Sequence[cl.Event],
) -> list[cl.Event]:
    """Launch without an event, which pyopencl does not offer."""
    launch = _opencl_launch()
    if launch is None:
        return _launched(kernel, queue, global_size, work_group, arguments, events)
    if events:
        cl.enqueue_barrier(queue, events)
    kernel.set_args(*arguments)
    sizes = ((ctypes.c_size_t * 3)(*size) for size in (global_size, work_group))
    status = launch(queue.int_ptr, kernel.int_ptr, 3, None, *sizes, 0, None, None)
    if status:
        raise cl.RuntimeError(f"clEnqueueNDRangeKernel gave status {status}")
    return []


@cache
def _opencl_launch() -> Callable[..., int] | None:
    """Return OpenCL's own function, from pyopencl's loader; None if it is not found."""
    try:
        launch = ctypes.CDLL(_cl.__file__).clEnqueueNDRangeKernel
    except (AttributeError, OSError):
        return None
    pointer = ctypes.c_void_p
    launch.argtypes = (
        *(pointer, pointer, ctypes.c_uint, pointer, pointer, pointer),
        *(ctypes.c_uint, pointer, pointer),
    )
    return launch


def _is_out_of_order(queue: cl.CommandQueue) -> bool:
    return bool(queue.properties & cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE)


def _is_numeric(value: object) -> bool:
    """Whether it is an array without dimensions that holds a number."""
    return isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "biufc"


def _described(array: cl_array.Array, memory: _Memory) -> _Described:
    return array.dtype, array.shape, array.strides, array.offset, memory[2]


def _distance(x: _Memory, c: _Memory) -> int | None:
    """Return x's offset from c's buffer in bytes; None if their memories are different ones."""
    return x[1] - c[1] if x[0] == c[0] else None


@dataclass(frozen=True, slots=True)
class _Addresses:
    """Has the fields by which numpy takes an object for an array; its elements are never read."""

    __array_interface__: Mapping[str, object]


def _share(x: _Array, c: _Array, distance: int) -> bool:
    """Whether two arrays have an element in common; True if that is too expensive to find out.

    Args:
        x: an array.
        c: another one in the same memory.
        distance: of their buffers, by `_distance`.
    """
    begins = (x.offset + distance, c.offset)
    first, second = (
        np.asarray(
            _Addresses(
                {
                    "version": 3,
                    "typestr": array.dtype.str,
                    "shape": array.shape,
                    "strides": array.strides,
                    "data": (1 + begin - min(begins), True),
                }
            )
        )
        for array, begin in zip((x, c), begins, strict=True)
    )
    try:
        most: Any = _OVERLAP_WORK  # numpy takes any number, but its stubs name two
        return np.shares_memory(first, second, max_work=most)
    except np.exceptions.TooHardError:
        return True


def _order(arguments: tuple[str, ...]) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    """Put a launch's arguments into a kernel's order: matrices, factors, memories, integers."""
    given = ("c", "a", "b", "bias", "alpha", "beta", "low", "high", "scratch", "counters")
    integers = itertools.count(len(given))
    return operator.itemgetter(
        *(given.index(name) if name in given else next(integers) for name in arguments)
    )


def _counting(scratch: _Scratch, nbytes: int) -> _Scratch:
    """Return scratch memory with at least so many bytes of counters."""
    if scratch.counters is not None and scratch.counters.size >= nbytes:
        return scratch
    queue = scratch.queue
    counters = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, nbytes)
    waits = [scratch.last] if scratch.last else None
    filled = cl.enqueue_fill_buffer(
        queue, counters, np.zeros(1, np.uint32), 0, nbytes, wait_for=waits
    )
    return replace(scratch, counters=counters, last=filled)


def _dimensions(order: str) -> tuple[int, int]:
    """Return the axis along which a matrix is contiguous, and its other axis."""
    return (-2, -1) if order == "F" else (-1, -2)


def _fits(array: _Array, order: str) -> bool:
    """Whether kernels support the layout: contiguous along one axis, no negative strides.

    The stride of an axis with a single element is never used, so it does not count.
    """
    if 0 in array.shape:
        return True
    fast, _ = _dimensions(order)
    itemsize = array.dtype.itemsize
    steps = zip(array.strides, array.shape, strict=True)
    return (
        array.offset % itemsize == 0
        and all(stride >= 0 and stride % itemsize == 0 for stride, extent in steps if extent > 1)
        and (array.shape[fast] == 1 or array.strides[fast] == itemsize)
    )


def _overlaps(array: _Array) -> bool:
    """Whether elements share memory: an axis's stride is shorter than the axes below it."""
    if 0 in array.shape:
        return False
    reach = array.dtype.itemsize
    for stride, extent in sorted(zip(array.strides, array.shape, strict=True)):
        if extent > 1:
            if stride < reach:
                return True
            reach += (extent - 1) * stride
    return False


def _place(name: str, array: _Array, order: str) -> dict[str, int]:
    """Return a matrix's offset, leading dimension and batch stride, in elements."""
    fast, slow = _dimensions(order)
    leading, batch = max(1, array.shape[fast]), 0
    if array.shape[slow] > 1:
        leading = array.strides[slow] // array.dtype.itemsize
    if len(array.shape) == 3 and array.shape[0] > 1:
        batch = array.strides[0] // array.dtype.itemsize
    return {
        f"offset_{name}": array.offset // array.dtype.itemsize,
        f"ld_{name}": leading,
        f"batch_stride_{name}": batch,
    }
