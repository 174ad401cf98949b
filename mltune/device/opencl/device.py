"""One opened OpenCL device: builds kernels, holds buffers, launches and times."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyopencl as cl

from mltune.device.errors import DeviceLostError, LaunchError, LimitError
from mltune.device.opencl.calculator import Calculator
from mltune.device.opencl.catalogue import DeviceEntry, choose, platform_devices
from mltune.device.opencl.comparison import Comparison, Expected
from mltune.device.opencl.describe import POCL
from mltune.device.opencl.execution import Execution
from mltune.device.opencl.fill import Filler
from mltune.device.opencl.inspection import Inspection
from mltune.device.opencl.program import Program, build
from mltune.device_info import DeviceInfo
from mltune.kernel import Kernel, Launch
from mltune.problem import Problem

Array = np.ndarray[Any, np.dtype[Any]]


_BOUND = 2  # a kernel under test and the one that it is held against


@dataclass(frozen=True, slots=True, eq=False)
class _Bound:
    """A kernel with the arguments that it has."""

    program: Program
    problem: Problem
    buffers: tuple[cl.Buffer | None, ...]
    launch: Launch


class OpenCLDevice:
    """A device with a context and one in-order queue that records when kernels start and end."""

    def __init__(self, entry: DeviceEntry) -> None:
        platform = cl.get_platforms()[entry.platform]
        self._info = entry.info
        self._bound: list[_Bound] = []
        self._inspection: Inspection | None = None
        self._calculators: dict[str, Calculator] = {}
        self._filler: Filler | None = None
        self._number = entry.number
        self._device = platform_devices(platform)[entry.device]
        self._context = cl.Context([self._device])
        self._queue = cl.CommandQueue(
            self._context, properties=cl.command_queue_properties.PROFILING_ENABLE
        )

    @classmethod
    def open(cls, spec: str = "auto") -> OpenCLDevice:
        """Open the device that `choose(spec)` gives.

        Raises:
            NoDeviceError: when there is no such device.
            UsageError: when the name fits several.
        """
        return cls(choose(spec))

    @property
    def info(self) -> DeviceInfo:
        """Identity and limits."""
        return self._info

    @property
    def number(self) -> str:
        """`P:D`, which tells it from its twins."""
        return self._number

    @property
    def compiles_at_launch(self) -> bool:
        """Whether a kernel's first launch compiles most of it, before it starts on the device."""
        return POCL in self._info.platform

    @property
    def tick_seconds(self) -> float:
        """Resolution of the clock that times kernels, as the driver states it."""
        return float(self._device.profiling_timer_resolution) * 1e-9

    def build(self, kernel: Kernel) -> Program:
        """Build a kernel.

        Raises:
            BuildError: when the compiler refuses it.
        """
        return build(self._context, self._device, kernel)

    def allocate(self, nbytes: int) -> cl.Buffer:
        """Make a buffer with arbitrary contents.

        Raises:
            LimitError: when it is larger than the device allows.
            LaunchError: when the driver has no memory left.
        """
        self.check_size(nbytes)
        try:
            return cl.Buffer(self._context, cl.mem_flags.READ_WRITE, nbytes)
        except cl.Error as error:
            raise LaunchError(f"no buffer of {nbytes} bytes: {error}") from error

    def check_size(self, nbytes: int) -> None:
        """Refuse a buffer that is larger than the device allows.

        Raises:
            LimitError: when it is.
        """
        if nbytes > self._info.max_alloc_bytes:
            raise LimitError(
                f"a buffer of {nbytes} bytes is over the device's limit of "
                f"{self._info.max_alloc_bytes}"
            )

    def comparison(self, expected: Expected) -> Comparison | None:
        """Keep a right result on the device; None where it is too large, or lacks doubles.

        Raises:
            LaunchError: when the driver has no memory left.
        """
        if not self._info.fp64 or expected.value_bytes > self._info.max_alloc_bytes:
            return None
        return Comparison(self._context, self._queue, expected)

    def calculator(self, dtype: str) -> Calculator:
        """Calculates with tensors of a type on the device itself; built when first needed.

        Raises:
            BuildError: when the driver cannot build it.
        """
        if dtype not in self._calculators:
            self._calculators[dtype] = Calculator(self._context, self._queue, dtype)
        return self._calculators[dtype]

    @property
    def inspection(self) -> Inspection:
        """Looks at memory on the device itself; its kernels are built when it is first needed.

        Raises:
            LaunchError: when the driver cannot build them.
        """
        if self._inspection is None:
            self._inspection = Inspection(self._context, self._queue)
        return self._inspection

    def part(self, buffer: cl.Buffer, first_byte: int, nbytes: int) -> cl.Buffer:
        """Return a piece of a buffer that kernels see as a buffer of its own.

        `first_byte` must be a multiple of 4096, which suits every driver's alignment.
        """
        return buffer.get_sub_region(first_byte, nbytes)

    def write(self, buffer: cl.Buffer, array: Array, first_byte: int = 0) -> None:
        """Fill a buffer from an array."""
        self._checked(partial(cl.enqueue_copy, dst_offset=first_byte), self._queue, buffer, array)

    def copy(self, source: cl.Buffer, target: cl.Buffer) -> None:
        """Copy on the device; returns at once, in order with launches."""
        self._checked(cl.enqueue_copy, self._queue, target, source)

    def fill(
        self, buffer: cl.Buffer, byte: int = 0, first_byte: int = 0, end_byte: int | None = None
    ) -> None:
        """Overwrite a buffer; returns at once, in order with launches.

        Args:
            buffer: no part of another one, unless it is filled from its beginning.
            byte: what with.
            first_byte: from where on; a multiple of 4096.
            end_byte: up to where, to a multiple of 4; to its end if left out.
        """
        end = (buffer.size if end_byte is None else end_byte) // 4 * 4
        if self._info.kind != "cpu":
            self._filler = self._filler or Filler(self._context, self._queue)
            self._checked(self._filler.fill, buffer, byte, first_byte, end)
        elif end > first_byte:
            word, size = np.full(4, byte, np.uint8), end - first_byte
            self._checked(cl.enqueue_fill_buffer, self._queue, buffer, word, first_byte, size)

    def read(self, buffer: cl.Buffer, array: Array, first_byte: int = 0) -> None:
        """Fill an array from a buffer, after all that was started before."""
        self._checked(partial(cl.enqueue_copy, src_offset=first_byte), self._queue, array, buffer)

    def launch(
        self,
        program: Program,
        problem: Problem,
        *,
        c: cl.Buffer,
        a: cl.Buffer,
        b: cl.Buffer,
        scratch: cl.Buffer | None = None,
        counters: cl.Buffer | None = None,
    ) -> Execution:
        """Start a kernel's passes on a canonical problem, and return without waiting for them.

        Args:
            program: the built kernel.
            problem: what to compute.
            c: where to.
            a: the first operand.
            b: the second one.
            scratch: of at least the kernel's `scratch_bytes`; None where they are 0.
            counters: all 0, of at least its `counter_bytes`; None where they are 0.

        Raises:
            LimitError: when the work-group or its local memory is over the device's limits;
                PoCL would run such a kernel and overwrite memory.
            LaunchError: when the driver refuses.
            UsageError: when the kernel does not compute such a problem.
        """
        try:
            launch = self._bind(program, problem, (c, a, b, scratch, counters))
            events = [
                cl.enqueue_nd_range_kernel(
                    self._queue, function, grid.global_size, grid.local_size
                )
                for function, grid in zip(program.functions, launch.grids, strict=True)
                if not grid.is_empty
            ]
            self._queue.flush()
        except (cl.Error, OverflowError, TypeError) as error:
            raise LaunchError(f"the driver refused the launch: {error}") from error
        return Execution(*events)

    def _bind(
        self, program: Program, problem: Problem, buffers: tuple[cl.Buffer | None, ...]
    ) -> Launch:
        """Set a kernel's arguments, unless it has these: that takes longer than a small kernel."""
        for bound in self._bound:
            if (
                bound.program is program
                and bound.problem is problem
                and all(map(operator.is_, bound.buffers, buffers))
            ):
                return bound.launch
        launch = program.kernel.launch(problem, self._info.compute_units)
        self._check_limits(program, launch)
        scalar = np.dtype(problem.contraction.precision.dtype).type
        sizes = [np.uint32(size) for size in launch.sizes]
        layout = [np.uint64(number) for number in launch.layout]
        others = [bound for bound in self._bound if bound.program is not program]
        self._bound = others[-(_BOUND - 1) :]
        *matrices, scratch, counters = buffers
        kernel = program.kernel
        last = [scratch] * bool(kernel.scratch) + [counters] * kernel.counters
        for function in program.functions:
            function.set_args(
                *matrices, scalar(problem.alpha), scalar(problem.beta), *sizes, *layout, *last
            )
        self._bound.append(_Bound(program, problem, buffers, launch))
        return launch

    def _check_limits(self, program: Program, launch: Launch) -> None:
        # Not the limit that a built kernel names: NVIDIA says 256 for every one, and runs 1024.
        largest = self._info.max_work_group_size
        for grid in launch.grids:
            items = math.prod(grid.local_size)
            if items > largest:
                raise LimitError(
                    f"a work-group of {items} work-items is over the limit of {largest}"
                )
            for size, limit in zip(grid.local_size, self._info.max_work_item_sizes, strict=True):
                if size > limit:
                    raise LimitError(
                        f"a work-group of {grid.local_size} is over the limits of "
                        f"{self._info.max_work_item_sizes}"
                    )
        if program.local_mem_bytes > self._info.local_mem_opt_in_bytes:
            raise LimitError(
                f"{program.local_mem_bytes} bytes of local memory are over the limit of "
                f"{self._info.local_mem_opt_in_bytes}"
            )

    def _checked(self, call: Any, *arguments: Any) -> None:
        try:
            call(*arguments)
        except cl.Error as error:
            raise DeviceLostError(f"the device failed a copy: {error}") from error
