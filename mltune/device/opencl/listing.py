"""Lists the OpenCL devices."""

from __future__ import annotations

import logging
import os
from functools import cache

import pyopencl as cl

from mltune.device.entry import DeviceEntry
from mltune.device.opencl.describe import describe
from mltune.device.opencl.diagnosis import no_device_hints
from mltune.device.opencl.helper_cache import do_without_unwritable
from mltune.errors import NoDeviceError, UsageError

KIND = "opencl"
_log = logging.getLogger(__name__)


def list_devices() -> tuple[DeviceEntry, ...]:
    """Return every device of every OpenCL platform.

    Raises:
        NoDeviceError: when there is none, with advice.
    """
    first_process()
    platforms = _platforms()
    entries, broken = [], []
    for number, platform in enumerate(platforms):
        for position, device in enumerate(_devices(platform)):
            try:
                entries.append(DeviceEntry(KIND, f"{number}:{position}", describe(device)))
            # a broken driver must not hide the others
            except (cl.Error, ValueError, IndexError) as error:
                reason = str(error).strip().partition("\n")[0]
                broken.append(f"device {number}:{position} cannot be described: {reason}")
    for line in broken:
        _log.warning("%s", line)
    if not entries:
        hints = "; ".join(broken) or "; ".join(
            no_device_hints([platform.name for platform in platforms])
        )
        raise NoDeviceError(f"no OpenCL device ({hints})")
    return tuple(entries)


@cache
def first_process() -> int:
    """Return the number of the process that first used a driver; its forks cannot use drivers.

    Only mltune's use counts: what the program did with pyopencl is not known.
    """
    return os.getpid()


def is_forked() -> bool:
    """Whether this process is a fork of the one that first used a driver."""
    return first_process() != os.getpid()


def driver_device(entry: DeviceEntry) -> cl.Device:
    """Return the driver's own handle of a device.

    Raises:
        UsageError: when it is not an OpenCL device.
    """
    if entry.kind != KIND:
        raise UsageError(f"device {entry.number}: expected an OpenCL device, got a {entry.kind}")
    return device_at(entry.number)


def device_at(number: str) -> cl.Device:
    """Return the driver's own handle of the device `P:D`."""
    do_without_unwritable()
    platform, device = map(int, number.split(":"))
    return _devices(cl.get_platforms()[platform])[device]


def _platforms() -> list[cl.Platform]:
    try:
        return list(cl.get_platforms())
    except cl.Error:  # how the loader reports that there is none
        return []


def _devices(platform: cl.Platform) -> list[cl.Device]:
    """Return a platform's devices; some drivers raise an error if there are none."""
    try:
        return list(platform.get_devices())
    except cl.Error:
        return []
