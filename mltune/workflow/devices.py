"""`mltune devices`: every OpenCL device with the text that chooses it, and what disturbs it."""

from __future__ import annotations

from mltune.device import list_devices
from mltune.device.doctor import Finding, examine
from mltune.device_info import DeviceInfo
from mltune.errors import NoDeviceError
from mltune.runner.environment import advice


def devices() -> tuple[tuple[str, DeviceInfo], ...]:
    """Return each device's `P:D` and description.

    Raises:
        NoDeviceError: when there is none; the message says what to do.
    """
    return tuple((entry.number, entry.info) for entry in list_devices())


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
    return tuple((spec, advice(info)) for spec, info in devices())
