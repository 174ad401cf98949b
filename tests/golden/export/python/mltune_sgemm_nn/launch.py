"""Checks the arguments of a GEMM call, chooses a kernel, and launches it on pyopencl arrays."""

from __future__ import annotations

import cmath
import numbers
import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array

from .built_kernels import BuiltKernels, Plan, Prove
from .gemm_kernel import GemmError, GemmKernel, GemmType
from .placement import (
    Described,
    Memory,
    PlacedArray,
    allocator_for,
    arguments_of,
    described,
    distance_of,
    fits,
    memory_of,
    overlaps,
    packed_strides,
    shares_element,
)

_KEPT_PLANS = 4096

_PLAIN_NUMBERS = (float, int)

SIZE_LIMIT = 2**31
"""Kernels count rows, columns, terms and products with 32 bits; all must be below this."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of a call, as its arrays have them."""

    m: int
    n: int
    k: int
    batch: int


class Launcher:
    """Computes c = alpha * a @ b + beta * c, and an epilogue, with one of several kernels.

    Any number of threads may share one.
    """

    def __init__(
        self,
        gemm_type: GemmType,
        kernels: Sequence[GemmKernel],
        select: Callable[[int, int, int, int], int],
        prove: Prove | None = None,
    ) -> None:
        self._type = gemm_type
        self._scalar = np.dtype(gemm_type.dtype).type
        self._largest = float(np.finfo(self._scalar).max)
        self._kernels = tuple(kernels)
        self._select = select
        self._built = BuiltKernels(gemm_type, kernels, prove)
        self._asks_units = any(kernel.counts_units for kernel in kernels)
        # Programs often call with the same few arrays.
        self._planned = lru_cache(maxsize=_KEPT_PLANS)(self._plan)
        self._modelled = lru_cache(maxsize=_KEPT_PLANS)(self._model)

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
            c: m x n, likewise; made if left out, on a's queue by a's allocator, and then beta must
                be 0. It must share no element with a or b.
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
                buffer or is of another context, or c shares memory with a, b or the bias.
            KernelError: when the kernel cannot run on the device, or must not be used there.
            cl.Error: when the driver refuses the launch; a note says so if c may have changed.
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
        described_a, described_b = described(a, memory_a), described(b, memory_b)
        if c is None:
            model = self._modelled(described_a, described_b, queue.context)
            c = cl_array.empty_like(model, queue, allocator_for(a, queue))
        memory_c = self._memory("c", c)
        # If alpha is 0 there are no terms, so that no kernel reads a and b.
        units = queue.device.max_compute_units if self._asks_units else 0
        plan = self._planned(
            described_a,
            described_b,
            described(c, memory_c),
            None if bias is None else described(bias, memory_bias),
            (
                distance_of(memory_a, memory_c),
                distance_of(memory_b, memory_c),
                distance_of(memory_bias, memory_c),
            ),
            factors[0] != 0,
            number,
            units,
        )
        events = [*waits, *a.events, *b.events, *c.events]
        if bias is not None:
            events += bias.events
        try:
            if plan is None:
                return c, (cl.enqueue_marker(queue, events),)
            launched = self._built.launch(
                queue, plan, (a, b, c), bias, (*factors, *limits), events, watched=watched
            )
        except cl.Error as error:
            for name, array in {"a": a, "b": b, "c": c, "bias": bias}.items():
                # An array that was made without a queue has no context.
                if array is not None and array.context not in (None, queue.context):
                    raise self._error(
                        f"{name} must be of the queue's context, got another one"
                    ) from error
            raise
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
            PlacedArray(*described(each, self._memory(name, each))) for name, each in given.items()
        ]
        return self._asked(self.sizes(*arrays), self._layout(*arrays))

    def sizes(self, a: Any, b: Any, c: Any = None) -> Sizes:
        """Check the types and shapes of arrays, also numpy's, and return the sizes.

        Raises:
            GemmError: when they do not fit.
        """
        arrays = {"a": a, "b": b} | ({} if c is None else {"c": c})
        wanted = ("batch", "rows", "columns") if self._type.batched else ("rows", "columns")
        for name, array in arrays.items():
            if array.dtype != self._type.dtype:
                raise self._error(f"{name} must be {self._type.dtype}, got {array.dtype}")
            if len(array.shape) != len(wanted):
                raise self._error(f"{name} must be ({', '.join(wanted)}), got {array.shape}")
        (*lead, m, k), n = a.shape, b.shape[-1]
        if b.shape != (*lead, k, n):
            shape = ", ".join(map(str, (*lead, k, "n")))
            raise self._error(f"b must be ({shape}) beside a {a.shape}, got {b.shape}")
        if c is not None and c.shape != (*lead, m, n):
            raise self._error(f"c must be {(*lead, m, n)}, got {c.shape}")
        batch = lead[0] if lead else 1
        if max(m, n, k, batch) >= SIZE_LIMIT:
            raise self._error(f"sizes must be below 2^31, got {m}x{n}x{k}, batch {batch}")
        return Sizes(m, n, k, batch)

    def release(self) -> None:
        """Forget the built kernels and scratch memory, and with them their contexts."""
        self._modelled.cache_clear()
        self._built.release()

    def forget(self, queue: cl.CommandQueue) -> None:
        """Forget a queue, and its scratch memory."""
        self._built.forget(queue)

    def is_built(self, queue: cl.CommandQueue, number: int) -> bool:
        """Whether a kernel can be launched on a queue without building it."""
        return self._built.is_built(queue, number)

    def forget_plans(self) -> None:
        """Let the next call of each size choose its kernel again."""
        self._planned.cache_clear()

    def _memory(self, name: str, array: cl_array.Array) -> Memory:
        """Return where an array's data lies: in a buffer, or in shared virtual memory."""
        if not isinstance(array, cl_array.Array):
            kind = type(array).__name__
            raise self._error(f"{name} must be a pyopencl array, got {kind}")
        return memory_of(array)

    def _memory_of_bias(self, bias: cl_array.Array | None) -> Memory:
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
        described_a: Described,
        described_b: Described,
        described_c: Described,
        described_bias: Described | None,
        distances: tuple[int | None, int | None, int | None],
        reads_ab: bool,
        kernel: int | None,
        units: int,
    ) -> Plan | None:
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
        a, b, c = PlacedArray(*described_a), PlacedArray(*described_b), PlacedArray(*described_c)
        sizes = self.sizes(a, b, c)
        layout = self._layout(a, b, c)
        if 0 in (sizes.m, sizes.n, sizes.batch):
            return None
        self._check_room("c", c)
        if sizes.k > 0 and reads_ab:
            for name, array, distance in zip("ab", (a, b), distances, strict=False):
                self._check_read(name, array, c, distance)
        bias = None if described_bias is None else PlacedArray(*described_bias)
        if bias is not None:
            self._check_bias(bias, sizes)
            self._check_read("bias", bias, c, distances[2])
        number = self._select(*self._asked(sizes, layout)) if kernel is None else kernel
        operands = dict(zip("abc", zip((a, b, c), layout.orders, strict=True), strict=True))
        rows, columns = sizes.m, sizes.n
        swaps = layout.orders[2] == "C"  # a row-major C is a column-major C^T
        if swaps:
            rows, columns = columns, rows
            operands["a"], operands["b"] = operands["b"], operands["a"]
        terms = sizes.k if reads_ab else 0
        values = {"rows": rows, "columns": columns, "terms": terms}
        for name, operand in operands.items():
            values |= arguments_of(name, *operand)
        if bias is not None:
            values["offset_bias"] = bias.offset // bias.dtype.itemsize
        chosen = self._kernels[number]
        global_sizes, scratch_bytes, counter_bytes = chosen.geometry(
            rows, columns, max(1, terms), sizes.batch, units
        )
        passes = zip(global_sizes, chosen.passes, strict=True)
        launches = tuple(
            (place, global_size, work_group)
            for place, (global_size, (_, work_group)) in enumerate(passes)
            if 0 not in global_size
        )
        return Plan(
            number, swaps, chosen.integers(**values), launches, scratch_bytes, counter_bytes
        )

    def _asked(self, sizes: Sizes, layout: GemmType) -> tuple[int, int, int, int]:
        """Return what `select` is called with."""
        if layout == self._type:
            return sizes.m, sizes.n, sizes.k, sizes.batch
        return sizes.n, sizes.m, sizes.k, sizes.batch  # the kernel computes the transpose

    def _check_bias(self, bias: PlacedArray, sizes: Sizes) -> None:
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

    def _check_read(
        self, name: str, array: PlacedArray, c: PlacedArray, distance: int | None
    ) -> None:
        self._check_room(name, array)
        if distance is not None and shares_element(array, c, distance):
            raise self._error(f"c must not share memory with {name}, which is read")

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
            if abs(value) > self._largest and cmath.isfinite(value):
                raise OverflowError(f"got {value}")
            return self._scalar(value)
        except (OverflowError, TypeError) as error:
            raise self._error(f"{name} must fit into {self._type.dtype}: {error}") from error

    def _model(
        self, described_a: Described, described_b: Described, context: cl.Context
    ) -> cl_array.Array:
        """Return an array without memory that has the type and strides of a product's.

        pyopencl takes 13 us to make an array, and one to make another like it.
        """
        a, b = PlacedArray(*described_a), PlacedArray(*described_b)
        sizes, layout = self.sizes(a, b), self._layout(a, b)
        shape = (sizes.batch, sizes.m, sizes.n) if layout.batched else (sizes.m, sizes.n)
        strides = packed_strides(shape, layout.orders[2], a.dtype.itemsize)
        least = cl.Buffer(context, cl.mem_flags.READ_WRITE, 1)
        model = cl_array.Array(context, shape, layout.dtype, strides=strides, data=least)
        model.base_data = None
        return model

    def _check_room(self, name: str, array: PlacedArray) -> None:
        if array.offset < 0 or array.end > array.room:
            raise self._error(
                f"{name} must lie in its buffer of {array.room} bytes, "
                f"got bytes {array.offset} to {array.end} for {array.shape}"
            )

    def _layout(self, a: PlacedArray, b: PlacedArray, c: PlacedArray | None = None) -> GemmType:
        """Return the memory orders of the arrays that the kernels support, tuned ones first."""
        arrays = {"a": a, "b": b} | ({} if c is None else {"c": c})
        if c is not None and overlaps(c):
            raise self._error(f"c's elements overlap: {c.shape} by {c.strides} bytes")
        layouts = [layout for layout in (self._type, self._type.exchanged()) if layout]
        for layout in layouts:
            # without c, there is one order more
            pairs = zip(arrays.values(), layout.orders, strict=False)
            if all(fits(array, order) for array, order in pairs):
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

    def _error(self, message: str) -> GemmError:
        return GemmError(f"{self._type.name}: {message}")


def _is_numeric(value: object) -> bool:
    """Whether it is an array without dimensions that holds a number."""
    return isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "biufc"
