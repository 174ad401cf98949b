"""A launched kernel: when it started, when it ended."""

from __future__ import annotations

import time

import pyopencl as cl

from mltune.device.errors import DeviceLostError

_POLL_SECONDS = 0.0002


class OpenCLExecution:
    """One launch on its way through the driver; times are the device's own."""

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
        """The kernel's passes, each by itself."""
        return tuple(
            OpenCLExecution(event, hides_start=self._hides_start) for event in self._events
        )

    def wait_until_running(self) -> None:
        """Return when the first pass has begun; what a driver still compiles lies before that.

        NVIDIA's driver never reports a start, so there it is when the kernel has ended; so it is
        where a driver says that a kernel runs while it still compiles it.

        Raises:
            DeviceLostError: when it failed on the device.
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
        """When a kernel that has ended began, in nanoseconds of the device's clock."""
        return int(self._events[0].profile.start)

    @property
    def ended_ns(self) -> int:
        """When it ended, by the same clock."""
        return int(self._events[-1].profile.end)

    @property
    def seconds(self) -> float:
        """Time on the device, of a kernel that has ended: from its first start to its last end."""
        return (self.ended_ns - self.started_ns) * 1e-9

    @property
    def delay_seconds(self) -> float:
        """Time that its passes were late, of a kernel that has ended.

        That is from the call, or from the end of the pass before, to the start on the device.
        """
        late, ready = 0, 0
        for event in self._events:
            late += event.profile.start - max(ready, event.profile.queued)
            ready = event.profile.end
        return late * 1e-9


class HostTimedExecution(OpenCLExecution):
    """One launch that the host times, because the device's clock cannot be used.

    It is told apart from others by waiting: for what came before, and for its end before anything
    else begins.
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
            begun_ns: when the host began to launch it.
            launch_ns: of a launch that does nothing; taken off.
            step_ns: how far that may be off; no time is shorter.
            is_first: of its program, which may be compiled now; that is not running.
        """
        super().__init__(*events, hides_start=is_first)
        self._begun_ns = begun_ns + launch_ns
        self._least_end_ns = self._begun_ns + max(step_ns, 1)
        self._ended_ns: int | None = None
        self._is_first = is_first

    @property
    def passes(self) -> tuple[OpenCLExecution, ...]:
        """Itself: passes are not told apart."""
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
        """What may have been compiling: all of a program's first launch."""
        return self.seconds if self._is_first else 0.0
