"""A device that is treated as a smaller one: `--device limited:LIMITS:DEVICE`.

It shows on any machine how mltune works on a small device, such as an integrated GPU: no kernel
may be tried that exceeds the limits. Such a launch is refused, though the driver could do it.
"""

from __future__ import annotations

import re
from dataclasses import replace

from mltune.device.device import Device
from mltune.device.entry import DeviceEntry
from mltune.device.named_kind import WrappedDeviceKind
from mltune.device_info import FP16, FP64, DeviceInfo, Probed
from mltune.errors import UsageError

_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_OLD_C = "OpenCL C 1.1"
_LAUNCH_NS, _STEP_NS = 20_000, 10_000  # of the host's clock
_HALF_OF_32_BITS = 1 << 31
_FORM = (
    "limited:LIMITS:DEVICE with LIMITS out of local=16K, group=64, alloc=64M, wave=32, "
    "bits=32, flat (groups of one dimension), nofp64, nofp16, cl11 (as before OpenCL 1.2) and "
    "hostclock, between commas"
)


class LimitedKind(WrappedDeviceKind):
    """`limited:LIMITS[:SPEC]`."""

    def find(self, spec: str) -> DeviceEntry:
        """Choose the device and its limits."""
        if not spec.partition(":")[0]:
            raise UsageError(f"device: expected {_FORM}")
        limits, whole = self._parts(spec)
        info = limited(whole.info, limits)
        return replace(whole, kind="limited", number=f"limited:{spec}", info=info)

    def open(self, entry: DeviceEntry) -> Device:
        """Open the device with these limits."""
        _, whole = self._parts(entry.number.partition(":")[2])
        return self._open_device(replace(whole, info=entry.info))


def limited(info: DeviceInfo, limits: str) -> DeviceInfo:
    """Return a device's description with smaller limits; smaller ones stay.

    Raises:
        UsageError: when a limit is unknown.
    """
    for word in filter(None, limits.split(",")):
        info = _limited(info, word)
    return replace(info, name=f"{info.name} limited to {limits}")


def _limited(info: DeviceInfo, word: str) -> DeviceInfo:
    match word.partition("="):
        case "nofp64", "", _:
            return info.without(FP64)
        case "nofp16", "", _:
            return info.without(FP16)
        case "flat", "", _:
            return replace(info, max_work_item_sizes=(info.max_work_item_sizes[0], 1, 1))
        case "cl11", "", _:
            opencl = info.opencl and replace(info.opencl, opencl_c_version=_OLD_C)
            return replace(info, opencl=opencl, probed=replace(_probed(info), fills=False))
        case "hostclock", "", _:
            probed = replace(_probed(info), launch_ns=_LAUNCH_NS, clock_step_ns=_STEP_NS)
            return replace(info, probed=probed)
        case "bits", "=", "32":
            most = min(_HALF_OF_32_BITS, info.max_alloc_bytes)
            memory = min(2 * _HALF_OF_32_BITS, info.global_mem_bytes)
            return replace(info, max_alloc_bytes=most, global_mem_bytes=memory)
        case "wave", "=", size:
            return replace(info, wave_size=_number(size))
        case "local", "=", size:
            return replace(info, local_mem_bytes=min(_number(size), info.local_mem_bytes))
        case "alloc", "=", size:
            return replace(info, max_alloc_bytes=min(_number(size), info.max_alloc_bytes))
        case "group", "=", size:
            most = min(_number(size), info.max_work_group_size)
            x, y, z = (min(each, most) for each in info.max_work_item_sizes)
            return replace(info, max_work_group_size=most, max_work_item_sizes=(x, y, z))
    raise UsageError(f"device: unknown limit '{word}' (expected {_FORM})")


def _probed(info: DeviceInfo) -> Probed:
    return info.probed or Probed()


def _number(text: str) -> int:
    found = re.fullmatch(r"([1-9]\d{0,9})([kmg]?)", text.lower())
    if not found:
        raise UsageError(f"device: expected a number such as 64, 16K or 64M, got '{text}'")
    return int(found[1]) * _UNITS[found[2]]
