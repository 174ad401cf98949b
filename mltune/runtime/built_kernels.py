"""The kernels of a launcher as they are built for devices, and the memory that they share."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import operator
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array
from pyopencl import _cl

from mltune.runtime.building import BuildError, build
from mltune.runtime.gemm_kernel import GemmKernel, GemmType, KernelError

_Extent = tuple[int, int, int]

Prove = Callable[[cl.CommandQueue, int], None]
"""Is asked before each launch; raises `KernelError` if a kernel must not be used on a device."""

_TOO_LARGE = (cl.status_code.INVALID_WORK_GROUP_SIZE, cl.status_code.INVALID_WORK_ITEM_SIZE)
"""A kernel's registers may allow smaller work-groups than the device has. Only a launch tells: as
`CL_KERNEL_WORK_GROUP_SIZE` NVIDIA's driver states 256 for kernels in PTX that run with 512.
"""

_BEGUN = "a part of the product was enqueued, so c may have changed"


def has_begun(error: BaseException) -> bool:
    """Whether the driver refused a pass after it took another one, so that C may have changed."""
    return _BEGUN in getattr(error, "__notes__", ())


def add_event(array: cl_array.Array, event: cl.Event, waited: Iterable[cl.Event]) -> None:
    """Let an array wait for an event in place of those that came before it.

    With all of them each call would wait for more. pyopencl's own `add_event` stops the host until
    the first of many have ended.
    """
    array.events.append(event)
    for each in waited:
        with contextlib.suppress(ValueError):  # it is there no more, or was never
            array.events.remove(each)


@dataclass(frozen=True, slots=True)
class Plan:
    """What a launch needs, as far as it follows from the arrays' shapes and places.

    Attributes:
        number: the kernel's.
        swaps: whether B comes before A among the kernel's arguments.
        integers: the arguments that are integers.
        launches: the number of each pass that has something to start, its global size and its
            work-group.
        scratch_bytes: of memory that the passes share.
        counter_bytes: of memory for counters.
    """

    number: int
    swaps: bool
    integers: tuple[int, ...]
    launches: tuple[tuple[int, _Extent, _Extent], ...]
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


class BuiltKernels:
    """Builds kernels when they are first launched, and launches them.

    A lock guards them, because an OpenCL kernel object keeps its arguments from one call to the
    next.
    """

    def __init__(
        self, gemm_type: GemmType, kernels: Sequence[GemmKernel], prove: Prove | None
    ) -> None:
        self._type = gemm_type
        self._kernels = tuple(kernels)
        self._prove = prove
        self._built: dict[tuple[int, int, int], tuple[cl.Kernel, ...]] = {}
        self._scratch: dict[int, _Scratch] = {}
        self._lock = threading.Lock()
        self._ordered = tuple(_order(kernel.arguments) for kernel in kernels)

    def launch(
        self,
        queue: cl.CommandQueue,
        plan: Plan,
        arrays: tuple[cl_array.Array, cl_array.Array, cl_array.Array],
        bias: cl_array.Array | None,
        factors: tuple[Any, Any, Any, Any],
        events: Sequence[cl.Event],
        *,
        watched: bool,
    ) -> tuple[cl.Event, ...]:
        """Launch all passes of a kernel, one after the other, and let c wait for them.

        Args:
            queue: where to launch.
            plan: what follows from the arrays' shapes and places.
            arrays: a, b and c.
            bias: None if none is added.
            factors: alpha, beta, and the limits of results.
            events: to wait for.
            watched: whether events are wanted, also on a queue that is in order.

        Returns:
            The events of the passes.

        Raises:
            KernelError: when the kernel cannot run on the device, or must not be used there.
            cl.Error: when the driver refuses a pass; see `has_begun`.
        """
        if self._prove is not None:
            self._prove(queue, plan.number)
        is_in_order = not _is_out_of_order(queue)
        start = _launched_unwatched if is_in_order and not watched else _launched
        kernel = self._kernels[plan.number]
        a, b, c = arrays
        operands = (c, b, a) if plan.swaps else (c, a, b)
        buffers = [operand.base_data for operand in operands]  # None where k is 0
        buffers.append(None if bias is None else bias.base_data)
        launched: list[cl.Event] = []
        waited = events
        try:
            with self._lock:
                functions = self._build(queue, plan.number)
                scratch: _Scratch | None = None
                memories: tuple[Any, Any] = (None, None)
                if kernel.has_scratch:
                    scratch = self._take_scratch(queue, plan.scratch_bytes)
                    if kernel.has_counters:
                        scratch = _counting(scratch, plan.counter_bytes)
                    memories = (scratch.buffer, scratch.counters)
                    events = [*events, *([scratch.last] if scratch.last else [])]
                arguments = self._ordered[plan.number](
                    (*buffers, *factors, *memories, *plan.integers)
                )
                # All arguments first: else the device waits for the host between two passes.
                for number, _, _ in plan.launches:
                    functions[number].set_args(*arguments)
                for number, global_size, work_group in plan.launches:
                    try:
                        begun = start(functions[number], queue, global_size, work_group, events)
                    except cl.Error as error:
                        if number > plan.launches[0][0]:
                            error.add_note(_BEGUN)
                        elif getattr(error, "code", None) in _TOO_LARGE:
                            refused = _refused(kernel, work_group)
                            reason = f"{self._type.name}: {refused}"
                            raise KernelError(reason, plan.number) from refused
                        raise
                    launched += begun
                    events = () if is_in_order else begun
                if scratch is not None:
                    # On a queue that is in order the next launch comes later in any case.
                    last = None if is_in_order else launched[-1]
                    if last is not scratch.last:
                        scratch = replace(scratch, last=last)
                    self._scratch[queue.int_ptr] = scratch
        finally:
            if launched:
                add_event(c, launched[-1], waited)
        return tuple(launched)

    def _take_scratch(self, queue: cl.CommandQueue, nbytes: int) -> _Scratch:
        """Take the queue's scratch memory with at least this size; the lock must be held.

        It is put back after the launch. If that fails, it is released: some drivers find out only
        then that there is not so much memory.
        """
        kept = self._scratch.get(queue.int_ptr)
        if kept is None or kept.buffer.size < nbytes:
            # OpenCL keeps the smaller buffer until the kernels that use it have ended.
            buffer = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, nbytes)
            kept = _Scratch(queue, buffer) if kept is None else replace(kept, buffer=buffer)
        self._scratch.pop(queue.int_ptr, None)
        return kept

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

    def release(self) -> None:
        """Forget the built kernels and scratch memory, and with them their contexts."""
        with self._lock:
            self._built.clear()
            self._scratch.clear()

    def forget(self, queue: cl.CommandQueue) -> None:
        """Forget a queue, and its scratch memory."""
        with self._lock:
            self._scratch.pop(queue.int_ptr, None)

    def is_built(self, queue: cl.CommandQueue, number: int) -> bool:
        """Whether a kernel can be launched on a queue without building it."""
        return (queue.context.int_ptr, queue.device.int_ptr, number) in self._built


def _refused(kernel: GemmKernel, work_group: _Extent) -> BuildError:
    group = "x".join(map(str, work_group))
    return BuildError(
        f"kernel {kernel.name} has work-groups of {group} work-items, which the device refuses"
    )


def _launched(
    kernel: cl.Kernel,
    queue: cl.CommandQueue,
    global_size: _Extent,
    work_group: _Extent,
    events: Sequence[cl.Event],
) -> list[cl.Event]:
    return [cl.enqueue_nd_range_kernel(queue, kernel, global_size, work_group, None, events)]


def _launched_unwatched(
    kernel: cl.Kernel,
    queue: cl.CommandQueue,
    global_size: _Extent,
    work_group: _Extent,
    events: Sequence[cl.Event],
) -> list[cl.Event]:
    """Launch without an event, which pyopencl does not offer."""
    launch = _opencl_launch()
    if launch is None:
        return _launched(kernel, queue, global_size, work_group, events)
    if events:
        cl.enqueue_barrier(queue, events)
    sizes = ((ctypes.c_size_t * 3)(*size) for size in (global_size, work_group))
    status = launch(queue.int_ptr, kernel.int_ptr, 3, None, *sizes, 0, None, None)
    return _launched(kernel, queue, global_size, work_group, ()) if status else []  # to raise it


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
