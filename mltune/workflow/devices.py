"""`mltune devices`: every OpenCL device with the text that chooses it."""

from __future__ import annotations

from mltune.device import list_devices
from mltune.device_info import DeviceInfo


def devices() -> tuple[tuple[str, DeviceInfo], ...]:
    """Return each device's `P:D` and description.

    Raises:
        NoDeviceError: when there is none; the message says what to do.
    """
    return tuple((entry.number, entry.info) for entry in list_devices())
