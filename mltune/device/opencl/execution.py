"""A launched kernel: when it started, when it ended."""

from __future__ import annotations

import time

import pyopencl as cl

from mltune.device.errors import DeviceLostError

_POLL_SECONDS = 0.0002


class OpenCLExecution:
    """One launch on its way through the driver; times are the device's own."""

    def __init__(self, *events: cl.Event) -> None:
        """Follow the events of a kernel's passes, which are in order."""
        self._events = events

    @property
    def passes(self) -> tuple[OpenCLExecution, ...]:
        """The kernel's passes, each by itself."""
        return tuple(OpenCLExecution(event) for event in self._events)

    def wait_until_running(self) -> None:
        """Return when the first pass has begun; what a driver still compiles lies before that.

        NVIDIA's driver never reports a start, so there it is when the kernel has ended.

        Raises:
            DeviceLostError: when it failed on the device.
        """
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
