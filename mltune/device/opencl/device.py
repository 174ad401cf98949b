"""One opened OpenCL device: builds kernels, holds buffers, launches and times."""

from __future__ import annotations

import operator
import time
from dataclasses import dataclass
from functools import partial
from typing import Any
from weakref import WeakSet

import numpy as np
import pyopencl as cl

from mltune.device.comparison import Expected
from mltune.device.entry import DeviceEntry
from mltune.device.errors import DeviceLostError, LaunchError
from mltune.device.inspection import MOST_SPOTS, Inspection
from mltune.device.limits import check_launch, check_size, group_of
from mltune.device.on_host import HostInspection
from mltune.device.opencl.calculator import OpenCLCalculator, can_calculate
from mltune.device.opencl.comparison import OpenCLComparison
from mltune.device.opencl.execution import (
    HostTimedExecution,
    OpenCLExecution,
    OpenCLSequence,
)
from mltune.device.opencl.fill import Filler
from mltune.device.opencl.hold import Hold
from mltune.device.opencl.inspection import OpenCLInspection
from mltune.device.opencl.listing import driver_device
from mltune.device.opencl.pass_launch import PassLaunch, set_arguments
from mltune.device.opencl.program import OpenCLProgram, build
from mltune.device.opencl.raising import raising
from mltune.device_info import DeviceInfo, Probed
from mltune.kernel import Kernel
from mltune.kernel.abi import Kind
from mltune.problem import Problem

Array = np.ndarray[Any, np.dtype[Any]]


_INTEGERS = {Kind.UINT: np.uint32, Kind.ULONG: np.uint64}
_OLD = ("OpenCL C 1.0", "OpenCL C 1.1")
_REFUSALS = (cl.Error, OverflowError, TypeError)
_GROUP = 128  # work-items of our own kernels, if the device supports so many
_BOUND = 2  # the kernel under test and the reference kernel


@dataclass(frozen=True, slots=True, eq=False)
class _Bound:
    """A kernel with its current arguments."""

    program: OpenCLProgram
    problem: Problem
    buffers: tuple[cl.Buffer | None, ...]
    passes: tuple[PassLaunch, ...]


class OpenCLDevice:
    """A device with a context and one in-order queue that records when kernels start and end."""

    def __init__(self, entry: DeviceEntry) -> None:
        self._info = entry.info
        self._probed = entry.info.probed or Probed()
        self._group = group_of(entry.info, _GROUP)
        self._launched: WeakSet[OpenCLProgram] = WeakSet()
        self._running: HostTimedExecution | None = None
        self._last: cl.Event | None = None  # of the last launch
        # Oclgrind takes a thousand times as long for each instruction
        self._simulates = entry.is_checker
        self._bound: list[_Bound] = []
        self._inspection: Inspection | None = None
        self._calculators: dict[str, OpenCLCalculator] = {}
        self._filler: Filler | None = None
        self._hold: Hold | None = None
        self._device = driver_device(entry)
        self._context = cl.Context([self._device])
        self._queue = cl.CommandQueue(
            self._context, properties=cl.command_queue_properties.PROFILING_ENABLE
        )

    @property
    def info(self) -> DeviceInfo:
        """Identity and limits."""
        return self._info

    @property
    def compiles_at_launch(self) -> bool:
        """Whether a kernel's first launch compiles most of it, before it starts on the device."""
        return self._probed.compiles_at_launch

    @property
    def tick_seconds(self) -> float:
        """Resolution of the clock that times kernels; for the host's clock, its uncertainty."""
        return self._probed.clock_step_ns * 1e-9

    @property
    def prefers_sequences(self) -> bool:
        """Whether short kernels are timed in sequences: on GPUs whose clock can be used.

        A processor starts the next launch when the last one has ended, and events do not delay it.
        """
        return self._info.kind != "cpu" and not self._probed.launch_ns

    def build(self, kernel: Kernel) -> OpenCLProgram:
        """Build a kernel.

        Raises:
            BuildError: when the compiler refuses it.
        """
        opencl = self._info.opencl
        return build(
            self._context,
            self._device,
            kernel,
            local_mem_count=self._probed.local_mem_count,
            takes_standard=not (opencl and opencl.opencl_c_version.startswith(_OLD)),
        )

    def allocate(self, nbytes: int) -> cl.Buffer:
        """Make a buffer with arbitrary contents.

        Raises:
            LimitError: when it is larger than the device allows.
            LaunchError: when the driver has no memory left.
        """
        check_size(self._info, nbytes)
        with raising(LaunchError, f"no buffer of {nbytes} bytes"):
            return cl.Buffer(self._context, cl.mem_flags.READ_WRITE, nbytes)

    def comparison(self, expected: Expected) -> OpenCLComparison | None:
        """Keep a right result on the device; None if it is too large, or doubles are missing.

        Raises:
            LaunchError: when the driver has no memory left.
        """
        if self._simulates or not self._info.fp64:
            return None
        if expected.value_bytes > self._info.max_alloc_bytes:
            return None
        return OpenCLComparison(self._context, self._queue, expected, self._group)

    def calculator(self, dtype: str) -> OpenCLCalculator | None:
        """Return a calculator for tensors of a type; None without doubles or large work-groups.

        Raises:
            BuildError: when the driver cannot build it.
        """
        if self._simulates or not self._info.fp64 or not can_calculate(self._info):
            return None
        if dtype not in self._calculators:
            self._calculators[dtype] = OpenCLCalculator(self._context, self._queue, dtype)
        return self._calculators[dtype]

    @property
    def inspection(self) -> Inspection:
        """Return the memory checks on the device; their kernels are built at the first call.

        Raises:
            LaunchError: when the driver cannot build them.
        """
        if self._inspection is None:
            if self._group < MOST_SPOTS or self._simulates:
                self._inspection = HostInspection(self)
            else:
                self._inspection = OpenCLInspection(
                    self._context, self._queue, self._group, fills=self._probed.fills
                )
        return self._inspection

    def part(self, buffer: cl.Buffer, first_byte: int, nbytes: int) -> cl.Buffer:
        """Return a part of a buffer that kernels use like a buffer of its own.

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
            byte: the new value of each byte.
            first_byte: the begin, a multiple of 4096.
            end_byte: the end, a multiple of 4 (default: the buffer's end).
        """
        end = (buffer.size if end_byte is None else end_byte) // 4 * 4
        if self._info.kind != "cpu" or not self._probed.fills:
            self._filler = self._filler or Filler(self._context, self._queue, self._group)
            self._checked(self._filler.fill, buffer, byte, first_byte, end)
        elif end > first_byte:
            word, size = np.full(4, byte, np.uint8), end - first_byte
            self._checked(cl.enqueue_fill_buffer, self._queue, buffer, word, first_byte, size)

    def read(self, buffer: cl.Buffer, array: Array, first_byte: int = 0) -> None:
        """Fill an array from a buffer, after everything started before."""
        self._checked(partial(cl.enqueue_copy, src_offset=first_byte), self._queue, array, buffer)

    def hold(self, seconds: float) -> OpenCLExecution:
        """Start a kernel that keeps the device busy for about so long; returns at once."""
        with raising(DeviceLostError, "the device failed to wait"):
            self._hold = self._hold or Hold(self._queue)
            return OpenCLExecution(self._hold.start(seconds))

    def launch(
        self,
        program: OpenCLProgram,
        problem: Problem,
        *,
        c: cl.Buffer,
        a: cl.Buffer,
        b: cl.Buffer,
        bias: cl.Buffer | None = None,
        scratch: cl.Buffer | None = None,
        counters: cl.Buffer | None = None,
        follows: int = 0,
    ) -> OpenCLExecution:
        """Start a kernel's passes on a canonical problem, and return without waiting for them.

        Args:
            program: the built kernel.
            problem: to compute.
            c: takes the result.
            a: the first operand.
            b: the second one.
            bias: of the epilogue; None if it has none.
            scratch: of at least the kernel's `scratch_bytes`; None if that is 0.
            counters: all 0, of at least its `counter_bytes`; None if that is 0.
            follows: how many times it is started; if not 0, the execution lasts from the end of
                the launch before to that of the last time.

        Raises:
            LimitError: when the work-group or its local memory is over the device's limits; PoCL
                would run such a kernel and overwrite memory.
            LaunchError: when the driver refuses.
            UsageError: when the kernel does not compute such a problem.
        """
        is_first = program not in self._launched
        self._launched.add(program)
        try:
            passes = self._bind(program, problem, (c, a, b, bias, scratch, counters))
            if self._probed.launch_ns:
                self._settle()
                self._queue.finish()
            begun_ns = time.perf_counter_ns()
            if follows:
                for each in (passes * follows)[:-1]:
                    each.start_unwatched(self._queue)
                events = [passes[-1].start(self._queue)]
            else:
                events = [each.start(self._queue) for each in passes]
            self._queue.flush()
        except _REFUSALS as error:
            raise LaunchError(f"the driver refused the launch: {error}") from error
        if self._probed.launch_ns:
            self._running = HostTimedExecution(
                *events,
                begun_ns=begun_ns,
                launch_ns=self._probed.launch_ns,
                step_ns=self._probed.clock_step_ns,
                is_first=is_first and self._probed.compiles_at_launch,
            )
            return self._running
        before, self._last = self._last, events[-1]
        if follows and before is not None:
            return OpenCLSequence(before, events[-1])
        return OpenCLExecution(*events, hides_start=is_first and self._probed.hides_compiling)

    def _settle(self) -> None:
        """Wait for a launch that the host times, to note its end before anything else begins."""
        running, self._running = self._running, None
        if running is not None:
            running.wait()

    def _bind(
        self, program: OpenCLProgram, problem: Problem, buffers: tuple[cl.Buffer | None, ...]
    ) -> tuple[PassLaunch, ...]:
        """Set a kernel's arguments if they changed, as that takes longer than a small kernel."""
        for bound in self._bound:
            if (
                bound.program is program
                and bound.problem is problem
                and all(map(operator.is_, bound.buffers, buffers))
            ):
                return bound.passes
        launch = program.kernel.launch(problem, self._info.compute_units)
        check_launch(self._info, launch, program.local_mem_bytes)
        others = [bound for bound in self._bound if bound.program is not program]
        self._bound = others[-(_BOUND - 1) :]
        scalar = np.dtype(problem.contraction.precision.dtype).type
        names = ("c", "a", "b", "bias", "scratch", "counters")
        given: dict[str, Any] = dict(zip(names, buffers, strict=True))
        factors = ("alpha", "beta", "low", "high")
        given |= {name: scalar(getattr(problem, name)) for name in factors}
        integers = iter(launch.integers)
        passed: list[Any] = [
            _INTEGERS[each.kind](next(integers)) if each.kind.is_integer else given[each.name]
            for each in program.kernel.arguments
        ]
        for function in program.functions:
            set_arguments(function, passed)
        passes = tuple(
            PassLaunch(function, grid.global_size, grid.local_size)
            for function, grid in zip(program.functions, launch.grids, strict=True)
            if not grid.is_empty
        )
        self._bound.append(_Bound(program, problem, buffers, passes))
        return passes

    def _checked(self, call: Any, *arguments: Any) -> None:
        self._settle()
        with raising(DeviceLostError, "the device failed a copy"):
            call(*arguments)
