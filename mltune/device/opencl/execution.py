"""A launched kernel: its begin and its end."""

from __future__ import annotations

import time

import pyopencl as cl

from mltune.device.errors import DeviceLostError

_POLL_SECONDS = 0.0002


class OpenCLExecution:
    """A launch and its state; times are the device's own."""

    def __init__(self, *events: cl.Event, hides_start: bool = False) -> None:
        """Follow the events of a kernel's passes, which are in order.

        Args:
            events: one for each pass.
            hides_start: whether the driver may say that it runs while it still compiles.
        """
        self._events = events
        self._hides_start = hides_start

    @property
    def passes(self) -> tuple[OpenCLExecution, ...]:
        """The passes of the kernel, each as an execution."""
        return tuple(
            OpenCLExecution(event, hides_start=self._hides_start) for event in self._events
        )

    def wait_until_running(self) -> None:
        """Return when the first pass has begun, so that compilation at the first launch is over.

        NVIDIA's driver never reports a start, and some drivers report it while they still compile.
        There it returns when the kernel has ended.

        Raises:
            DeviceLostError: when the kernel failed on the device.
        """
        if self._hides_start:
            self.wait()
        try:
            while self._events[0].command_execution_status > cl.command_execution_status.RUNNING:
                time.sleep(_POLL_SECONDS)
        except cl.Error as error:
            raise DeviceLostError(f"the kernel failed on the device: {error}") from error

    def wait(self) -> None:
        """Return when the kernel has ended.

        Raises:
            DeviceLostError: when it failed on the device.
        """
        try:
            self._events[-1].wait()
        except cl.Error as error:
            raise DeviceLostError(f"the kernel failed on the device: {error}") from error

    @property
    def started_ns(self) -> int:
        """When a finished kernel began, in nanoseconds of the device's clock."""
        return int(self._events[0].profile.start)

    @property
    def ended_ns(self) -> int:
        """When it ended, by the same clock."""
        return int(self._events[-1].profile.end)

    @property
    def delay_seconds(self) -> float:
        """Delays of a finished kernel's passes.

        Each is the time from the call, or from the end of the pass before, to the start on the
        device.
        """
        late, ready = 0, 0
        for event in self._events:
            late += event.profile.start - max(ready, event.profile.queued)
            ready = event.profile.end
        return late * 1e-9


class OpenCLSequence(OpenCLExecution):
    """Launches of a kernel in sequence, from the end of the launch before to that of the last."""

    def __init__(self, before: cl.Event, last: cl.Event) -> None:
        """Follow a sequence.

        Args:
            before: of the launch before.
            last: of the last launch.
        """
        super().__init__(last)
        self._before = before

    @property
    def passes(self) -> tuple[OpenCLExecution, ...]:
        """The sequence itself."""
        return (self,)

    @property
    def started_ns(self) -> int:
        """When the launch before ended, in nanoseconds of the device's clock."""
        return int(self._before.profile.end)


class HostTimedExecution(OpenCLExecution):
    """A launch that the host times, because the device's clock cannot be used.

    It is separated from other launches by waiting: for earlier commands, and for its own end
    before anything else begins.
    """

    def __init__(
        self,
        *events: cl.Event,
        begun_ns: int,
        launch_ns: int,
        step_ns: int,
        is_first: bool = False,
    ) -> None:
        """Follow a launch.

        Args:
            events: of its passes.
            begun_ns: when the host began the launch.
            launch_ns: time of an empty launch, which is subtracted.
            step_ns: uncertainty of that time; no time is shorter.
            is_first: whether it is the program's first launch, which may include compilation.
        """
        super().__init__(*events, hides_start=is_first)
        self._begun_ns = begun_ns + launch_ns
        self._least_end_ns = self._begun_ns + max(step_ns, 1)
        self._ended_ns: int | None = None
        self._is_first = is_first

    @property
    def passes(self) -> tuple[OpenCLExecution, ...]:
        """The launch itself, as single passes are not timed."""
        return (self,)

    def wait(self) -> None:
        """Return when the kernel has ended, and note the time.

        Raises:
            DeviceLostError: when it failed on the device.
        """
        if self._ended_ns is None:
            super().wait()
            self._ended_ns = max(time.perf_counter_ns(), self._least_end_ns)

    @property
    def started_ns(self) -> int:
        """When the host launched it, in nanoseconds of its own clock."""
        return self._begun_ns

    @property
    def ended_ns(self) -> int:
        """When the host saw its end."""
        self.wait()
        assert self._ended_ns is not None
        return self._ended_ns

    @property
    def delay_seconds(self) -> float:
        """The whole first launch of a program, which may be compilation."""
        return (self.ended_ns - self.started_ns) * 1e-9 if self._is_first else 0.0
