"""`mltune devices`: every OpenCL device with the text that chooses it, and its problems."""

from __future__ import annotations

from mltune.device import DeviceEntry, examine, list_devices
from mltune.device.doctor import Finding
from mltune.device.doctor import examine as findings
from mltune.errors import NoDeviceError
from mltune.runner.environment import advice


def devices() -> tuple[DeviceEntry, ...]:
    """Return each device as its examination shows it.

    Raises:
        NoDeviceError: when there is none; the message says what to do.
    """
    return tuple(map(examine, list_devices()))


def doctor() -> tuple[Finding, ...]:
    """Return what keeps devices from working, each with the command that fixes it."""
    try:
        entries = devices()
    except NoDeviceError:
        entries = ()
    return findings(entries)


def environment() -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return each device's `P:D` with a line for everything to fix before a serious run.

    Raises:
        NoDeviceError: when there is no device.
    """
    return tuple((entry.number, advice(entry.info)) for entry in list_devices())
