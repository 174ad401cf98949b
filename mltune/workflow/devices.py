"""`mltune devices`: every OpenCL device with the text that chooses it, and what disturbs it."""

from __future__ import annotations

from mltune.device import DeviceEntry, list_devices, problem_of
from mltune.device.doctor import Finding, examine
from mltune.errors import NoDeviceError
from mltune.runner.environment import advice


def devices() -> tuple[tuple[DeviceEntry, str], ...]:
    """Return each device, and what keeps it from building kernels; empty if nothing.

    Raises:
        NoDeviceError: when there is none; the message says what to do.
    """
    return tuple((entry, problem_of(entry)) for entry in list_devices())


def doctor() -> tuple[Finding, ...]:
    """Return what keeps devices from working, each with the command that mends it."""
    try:
        entries = list_devices()
    except NoDeviceError:
        entries = ()
    return examine(entries)


def environment() -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return each device's `P:D` with one line for everything to be fixed before a serious run.

    Raises:
        NoDeviceError: when there is no device.
    """
    return tuple((entry.number, advice(entry.info)) for entry in list_devices())
