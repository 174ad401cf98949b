"""The ways in which building and launching on a device can fail."""

from __future__ import annotations

from mltune.errors import MltuneError


class BuildError(MltuneError):
    """The driver's compiler refused a kernel; the message is the log's first error line.

    Attributes:
        log: the whole build log.
    """

    def __init__(self, message: str, log: str = "") -> None:
        super().__init__(message)
        self.log = log


class LimitError(MltuneError):
    """A launch or an allocation exceeds the device's limits; the driver was not asked."""


class LaunchError(MltuneError):
    """The driver refused a launch or an allocation; do not rely on its context any more."""


class DeviceLostError(MltuneError):
    """A kernel failed while it ran; with most drivers only a new process can use the device."""
