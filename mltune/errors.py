"""The errors that mltune raises on purpose; each kind has one exit code in the command line."""

from __future__ import annotations


class MltuneError(Exception):
    """Something failed for a reason that can be said in one line (exit code 1)."""


class UsageError(MltuneError):
    """What was asked for is wrong: an option, a file, a name (exit code 2)."""


class UnsupportedError(UsageError):
    """A valid request that no kernel family can write yet (exit code 2)."""


class NoCorrectConfigError(MltuneError):
    """Every config that was tried failed or computed a wrong result (exit code 3)."""


class NoDeviceError(MltuneError):
    """There is no usable OpenCL device, or none by the name that was asked for (exit code 4)."""


class DeviceGoneError(NoDeviceError):
    """A device that worked, and then could not be opened or trusted again (exit code 4)."""
