"""The device's contract: describe itself, build kernels, hold buffers, launch, return times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from mltune.device.calculator import Calculator
from mltune.device.comparison import Comparison, Expected
from mltune.device.inspection import Inspection
from mltune.device_info import DeviceInfo
from mltune.kernel import Kernel
from mltune.problem import Problem

Array = np.ndarray[Any, np.dtype[Any]]

Buffer = Any
"""What `Device.allocate` returns. Only its own device may use it; all may read its `size`."""


class Program(Protocol):
    """A built kernel, which the device that built it can launch."""

    @property
    def kernel(self) -> Kernel:
        """The kernel that was built."""
        ...

    @property
    def build_seconds(self) -> float:
        """Time of the build; see `Device.compiles_at_launch`."""
        ...

    @property
    def local_mem_bytes(self) -> int:
        """Local memory of a work-group, as the driver counts it."""
        ...


class Execution(Protocol):
    """A launch and its state; times are the device's own.

    Times are valid after this launch, or a later one, was waited for.
    """

    @property
    def passes(self) -> Sequence[Execution]:
        """The passes of the kernel, each as an execution."""
        ...

    def wait_until_running(self) -> None:
        """Return when the first pass has begun, so that compilation at the first launch is over.

        Raises:
            DeviceLostError: when the kernel failed on the device.
        """
        ...

    def wait(self) -> None:
        """Return when the kernel has ended.

        Raises:
            DeviceLostError: when the kernel failed on the device.
        """
        ...

    @property
    def started_ns(self) -> int:
        """When it began, in nanoseconds of the device's clock."""
        ...

    @property
    def ended_ns(self) -> int:
        """When it ended, by the same clock."""
        ...

    @property
    def delay_seconds(self) -> float:
        """Time from the call, or from the end of the pass before, to the start of each pass."""
        ...


class Device(Protocol):
    """An opened device, which executes its commands in order.

    `launch`, `copy` and `fill` return before the work is done; `read`, and the results of
    `inspection` and `comparison`, wait for everything started before.
    """

    @property
    def info(self) -> DeviceInfo:
        """Identity and limits."""
        ...

    @property
    def compiles_at_launch(self) -> bool:
        """Whether a kernel's first launch compiles most of it, before it starts on the device."""
        ...

    @property
    def tick_seconds(self) -> float:
        """Resolution of the clock that times kernels; 0 if unknown."""
        ...

    @property
    def prefers_sequences(self) -> bool:
        """Whether short kernels are timed in sequences: by `launch` with `follows`."""
        ...

    def build(self, kernel: Kernel) -> Program:
        """Build a kernel.

        Raises:
            BuildError: when the compiler refuses it.
        """
        ...

    def allocate(self, nbytes: int) -> Buffer:
        """Make a buffer with arbitrary contents.

        Raises:
            LimitError: when it is larger than the device allows.
            LaunchError: when there is no memory left.
        """
        ...

    def part(self, buffer: Buffer, first_byte: int, nbytes: int) -> Buffer:
        """Return a part of a buffer that kernels use like a buffer of its own.

        Args:
            buffer: from `allocate`.
            first_byte: a multiple of 4096.
            nbytes: its length.
        """
        ...

    def write(self, buffer: Buffer, array: Array, first_byte: int = 0) -> None:
        """Fill a buffer from an array."""
        ...

    def read(self, buffer: Buffer, array: Array, first_byte: int = 0) -> None:
        """Fill an array from a buffer.

        Raises:
            DeviceLostError: when a command started before has failed.
        """
        ...

    def copy(self, source: Buffer, target: Buffer) -> None:
        """Copy a buffer to the beginning of another one."""
        ...

    def fill(
        self, buffer: Buffer, byte: int = 0, first_byte: int = 0, end_byte: int | None = None
    ) -> None:
        """Overwrite a buffer.

        Args:
            buffer: no part of another one, unless it is filled from its beginning.
            byte: the new value of each byte.
            first_byte: the begin, a multiple of 4096.
            end_byte: the end, a multiple of 4 (default: the buffer's end).
        """
        ...

    def hold(self, seconds: float) -> Execution:
        """Start a kernel that keeps the device busy for about so long; returns at once.

        What is enqueued meanwhile then runs without waiting for the host.
        """
        ...

    def launch(
        self,
        program: Any,
        problem: Problem,
        *,
        c: Buffer,
        a: Buffer,
        b: Buffer,
        bias: Buffer | None = None,
        scratch: Buffer | None = None,
        counters: Buffer | None = None,
        follows: int = 0,
    ) -> Execution:
        """Start a kernel's passes on a canonical problem.

        With `follows` it is started so many times, and the execution lasts from the end of the
        launch before to the end of the last time. So a program meets a short kernel on a GPU: each
        launch begins as the last one ends, and hardly any is delayed by an event.

        Args:
            program: built by this device.
            problem: to compute.
            c: takes the result.
            a: the first operand.
            b: the second one.
            bias: of the epilogue; None if it has none.
            scratch: of at least the kernel's `scratch_bytes`; None if that is 0.
            counters: all 0, of at least its `counter_bytes`; None if that is 0.
            follows: how many times it is started as a part of a sequence; 0 for once, alone.

        Raises:
            LimitError: when the work-group or its local memory is over the device's limits.
            LaunchError: when the driver refuses.
            UsageError: when the kernel does not compute such a problem.
        """
        ...

    @property
    def inspection(self) -> Inspection:
        """Return an object that checks memory; `on_host.HostInspection` serves any device.

        Raises:
            LaunchError: when the driver cannot make it.
        """
        ...

    def comparison(self, expected: Expected) -> Comparison | None:
        """Keep a right result on the device; None if the host has to compare.

        Raises:
            LaunchError: when there is no memory left.
        """
        ...

    def calculator(self, dtype: str) -> Calculator | None:
        """Return an object that draws and multiplies tensors of a type; None if the host has to.

        Raises:
            BuildError: when the driver cannot build the kernels.
        """
        ...
