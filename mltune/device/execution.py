"""A launched kernel: when it started, when it ended."""

from __future__ import annotations

import time

import pyopencl as cl

from mltune.device.errors import DeviceLostError

_POLL_SECONDS = 0.0002


class Execution:
    """One launch on its way through the driver; times are the device's own."""

    def __init__(self, event: cl.Event) -> None:
        self._event = event

    def wait_until_running(self) -> None:
        """Return when the device has begun; what a driver still compiles lies before that.

        NVIDIA's driver never reports a start, so there it is when the kernel has ended.

        Raises:
            DeviceLostError: when it failed on the device.
        """
        try:
            while self._event.command_execution_status > cl.command_execution_status.RUNNING:
                time.sleep(_POLL_SECONDS)
        except cl.Error as error:
            raise DeviceLostError(f"the kernel failed on the device: {error}") from error

    def wait(self) -> None:
        """Return when the kernel has ended.

        Raises:
            DeviceLostError: when it failed on the device.
        """
        try:
            self._event.wait()
        except cl.Error as error:
            raise DeviceLostError(f"the kernel failed on the device: {error}") from error

    @property
    def started_ns(self) -> int:
        """When a kernel that has ended began, in nanoseconds of the device's clock."""
        return int(self._event.profile.start)

    @property
    def ended_ns(self) -> int:
        """When it ended, by the same clock."""
        return int(self._event.profile.end)

    @property
    def seconds(self) -> float:
        """Time on the device, of a kernel that has ended."""
        return float(self._event.profile.end - self._event.profile.start) * 1e-9

    @property
    def delay_seconds(self) -> float:
        """Time from the call to the start on the device, of a kernel that has ended."""
        return float(self._event.profile.start - self._event.profile.queued) * 1e-9
