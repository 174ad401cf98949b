"""Chooses the device that a user means."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from mltune.device.entry import DeviceEntry
from mltune.errors import NoDeviceError, UsageError


def pick(
    spec: str, entries: Sequence[DeviceEntry], examine: Callable[[DeviceEntry], DeviceEntry]
) -> DeviceEntry:
    """Return the device that a user means, examined; its notes name better ones that fail.

    Args:
        spec: as for `choose`, without a kind.
        entries: the devices to choose from.
        examine: examines a device that may be the answer.

    Raises:
        NoDeviceError: when there is no such device, or none that works.
        UsageError: when the name fits several devices that work.
    """
    word = spec.strip().lower()
    if not word:
        raise UsageError("device: expected auto, cpu, gpu, P:D or a part of a name, got nothing")
    by_type = word in ("auto", "cpu", "gpu")
    found = _by_type(word, entries) if by_type else _by_name(word, entries)
    usable, refused = [], []
    for entry in map(examine, found):
        if entry.problem:
            refused.append(f"device {entry.number} {entry.info.name}: {entry.problem}")
        else:
            usable.append(entry)
            if by_type:
                break
    if not usable:
        raise NoDeviceError("; ".join(refused))
    if len(usable) > 1:
        raise UsageError(
            f"device: '{word}' fits {len(usable)}; name one by number: "
            f"{', '.join(map(_label, usable))}"
        )
    (chosen,) = usable
    instead = f"device {chosen.number} is taken instead"
    notes = [f"{line}; {instead}" for line in refused]
    if by_type and chosen.is_embedded:
        notes += _left_out(chosen, found)
    return replace(chosen, notes=(*notes, *chosen.notes))


def _left_out(chosen: DeviceEntry, found: Sequence[DeviceEntry]) -> Iterator[str]:
    """Name the drivers that could run on the same processor as PoCL."""
    for each in found:
        if each.info.kind == chosen.info.kind and not each.is_embedded:
            name = f"{each.info.name} ({each.info.platform})"
            yield f"PoCL is taken, not {name}: --device {each.number} takes that"


def _by_type(word: str, entries: Sequence[DeviceEntry]) -> Sequence[DeviceEntry]:
    """Return the devices of a type, the best one first."""
    types = ("gpu", "cpu", "accelerator") if word == "auto" else (word,)
    usable = [e for e in entries if e.info.kind in types and not e.is_checker]
    if not usable:
        raise _none_known(f"for '{word}'", entries)
    # Sorting is stable, so equal devices stay in the driver's order.
    return sorted(usable, key=lambda e: (types.index(e.info.kind), not e.is_embedded))


def _by_name(word: str, entries: Sequence[DeviceEntry]) -> Sequence[DeviceEntry]:
    if re.fullmatch(r"\d+:\d+", word):
        found = [e for e in entries if e.number == word]
    else:
        found = [e for e in entries if word in _name(e)]
    if not found:
        raise _none_known(f"'{word}'", entries)
    return found


def _name(entry: DeviceEntry) -> str:
    info = entry.info
    return f"{info.platform} {info.name} {info.uuid}".lower()


def _none_known(asked: str, entries: Sequence[DeviceEntry]) -> NoDeviceError:
    known = tuple(map(_label, entries))
    return NoDeviceError(f"no device {asked} (known: {', '.join(known)})", known=known)


def _label(entry: DeviceEntry) -> str:
    return f"{entry.number} {entry.info.name} ({entry.info.platform})"
