"""Which of several devices a user means."""

from __future__ import annotations

import re
from collections.abc import Sequence

from mltune.device.entry import DeviceEntry
from mltune.errors import NoDeviceError, UsageError


def pick(spec: str, entries: Sequence[DeviceEntry]) -> DeviceEntry:
    """Return the device that a user means.

    Args:
        spec: as `choose` takes it, without a kind.
        entries: the devices to choose from.

    Raises:
        NoDeviceError: when there is no such device.
        UsageError: when the name fits several devices.
    """
    word = spec.strip().lower()
    if not word:
        raise UsageError("device: expected auto, cpu, gpu, P:D or a part of a name, got nothing")
    return _by_type(word, entries) if word in ("auto", "cpu", "gpu") else _by_name(word, entries)


def _by_type(word: str, entries: Sequence[DeviceEntry]) -> DeviceEntry:
    types = ("gpu", "cpu", "accelerator") if word == "auto" else (word,)
    usable = [e for e in entries if e.info.kind in types and not e.is_checker]
    if not usable:
        raise NoDeviceError(f"no device for '{word}' ({_listing(entries)})")
    # Sorting is stable: among equals the driver's order decides.
    return min(usable, key=lambda e: (types.index(e.info.kind), not e.is_embedded))


def _by_name(word: str, entries: Sequence[DeviceEntry]) -> DeviceEntry:
    if re.fullmatch(r"\d+:\d+", word):
        found = [e for e in entries if e.number == word]
    else:
        found = [e for e in entries if word in _name(e)]
    if not found:
        raise NoDeviceError(f"no device '{word}' ({_listing(entries)})")
    if len(found) > 1:
        raise UsageError(
            f"device: '{word}' fits {len(found)}; name one by number: {_listing(found)}"
        )
    return found[0]


def _name(entry: DeviceEntry) -> str:
    info = entry.info
    return f"{info.platform} {info.name} {info.uuid}".lower()


def _listing(entries: Sequence[DeviceEntry]) -> str:
    return "known: " + ", ".join(f"{e.number} {e.info.name} ({e.info.platform})" for e in entries)
