"""Which OpenCL devices there are, and which one a user means."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import pyopencl as cl

from mltune.device.opencl.describe import OCLGRIND, POCL, describe
from mltune.device.opencl.diagnosis import missing_linker, no_device_hints
from mltune.device_info import DeviceInfo
from mltune.errors import NoDeviceError, UsageError


@dataclass(frozen=True, slots=True)
class DeviceEntry:
    """A device with the numbers of its platform and of itself within the platform."""

    platform: int
    device: int
    info: DeviceInfo

    @property
    def number(self) -> str:
        """`P:D`, which `choose` takes."""
        return f"{self.platform}:{self.device}"

    @property
    def is_checker(self) -> bool:
        """Whether it simulates a device in order to find mistakes: right, but very slow."""
        return OCLGRIND in self.info.platform


def list_devices() -> tuple[DeviceEntry, ...]:
    """Return every device of every OpenCL platform.

    Raises:
        NoDeviceError: when there is none, with what would help.
    """
    platforms = _platforms()
    entries = tuple(
        DeviceEntry(number, position, describe(device))
        for number, platform in enumerate(platforms)
        for position, device in enumerate(platform_devices(platform))
    )
    if not entries:
        hints = "; ".join(no_device_hints([platform.name for platform in platforms]))
        raise NoDeviceError(f"no OpenCL device ({hints})")
    return entries


def choose(spec: str = "auto", entries: Sequence[DeviceEntry] | None = None) -> DeviceEntry:
    """Return the device that a user means.

    Args:
        spec: `auto` (a GPU if there is one, else PoCL, else any other), `cpu`, `gpu`, `P:D`
            (platform and device number), or a part of the name of the device or its platform,
            or of its UUID.
            Oclgrind is only ever chosen by number or name.
        entries: the devices to choose from; by default all there are.

    Raises:
        NoDeviceError: when there is no such device, with what would help.
        UsageError: when the name fits several devices.
    """
    word = spec.strip().lower()
    if not word:
        raise UsageError("device: expected auto, cpu, gpu, P:D or a part of a name, got nothing")
    known = list_devices() if entries is None else tuple(entries)
    entry = _by_kind(word, known) if word in ("auto", "cpu", "gpu") else _by_name(word, known)
    if problem := missing_linker(entry.info):
        raise NoDeviceError(f"device {entry.number} {entry.info.name} cannot build: {problem}")
    return entry


def _by_kind(word: str, entries: Sequence[DeviceEntry]) -> DeviceEntry:
    kinds = ("gpu", "cpu", "accelerator") if word == "auto" else (word,)
    usable = [e for e in entries if e.info.kind in kinds and not e.is_checker]
    if not usable:
        raise NoDeviceError(f"no device for '{word}' ({_listing(entries)})")
    # Sorting is stable: among equals the driver's order decides.
    return min(usable, key=lambda e: (kinds.index(e.info.kind), POCL not in e.info.platform))


def _by_name(word: str, entries: Sequence[DeviceEntry]) -> DeviceEntry:
    if re.fullmatch(r"\d+:\d+", word):
        found = [e for e in entries if e.number == word]
    else:
        found = [e for e in entries if word in _name(e.info)]
    if not found:
        raise NoDeviceError(f"no device '{word}' ({_listing(entries)})")
    if len(found) > 1:
        raise UsageError(
            f"device: '{word}' fits {len(found)}; name one by number: {_listing(found)}"
        )
    return found[0]


def _name(info: DeviceInfo) -> str:
    return f"{info.platform} {info.name} {info.uuid}".lower()


def _listing(entries: Sequence[DeviceEntry]) -> str:
    return "known: " + ", ".join(f"{e.number} {e.info.name} ({e.info.platform})" for e in entries)


def _platforms() -> list[cl.Platform]:
    try:
        return list(cl.get_platforms())
    except cl.Error:  # the loader's way of saying that there is none
        return []


def platform_devices(platform: cl.Platform) -> list[cl.Device]:
    """Return a platform's devices; a driver that finds none may answer with an error."""
    try:
        return list(platform.get_devices())
    except cl.Error:
        return []
