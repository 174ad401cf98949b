"""Checks a device's memory by reading it back, for devices without kernels for it."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

from mltune.device.inspection import Kept, Put

if TYPE_CHECKING:
    from mltune.device.device import Device

Array = np.ndarray[Any, np.dtype[Any]]
_PIECE_BYTES = 1 << 18


class HostInspection:
    """Checks memory by reading it."""

    def __init__(self, device: Device) -> None:
        self._device = device

    def checksums(self, *buffers: Any) -> tuple[int, ...]:
        """Return 64 bits of a cryptographic hash of each buffer."""
        return tuple(self._checksum(buffer) for buffer in buffers)

    def pattern_check(self, byte: int) -> HostPatternCheck:
        """Return a check that compares on the host."""
        return HostPatternCheck(self._device, byte)

    def spots(self, places: Array, values: Array, most_seen: int) -> HostSpots:
        """Return spots that are written and read one by one."""
        return HostSpots(self._device, places, values, most_seen)

    def _checksum(self, buffer: Any) -> int:
        found = np.empty(buffer.size, np.uint8)
        self._device.read(buffer, found)
        return int.from_bytes(hashlib.blake2b(found.data, digest_size=8).digest(), "little")


class HostPatternCheck:
    """Checks at once, and keeps the answer."""

    def __init__(self, device: Device, byte: int) -> None:
        self._device, self._byte = device, byte
        self.begin()

    def begin(self) -> None:
        """Reset the answer."""
        self._is_whole = True

    def look(self, buffer: Any, first_byte: int, end_byte: int) -> None:
        """Check a range, in pieces that fit into a processor's cache."""
        piece = np.empty(_PIECE_BYTES, np.uint8)
        for first in range(first_byte, end_byte, _PIECE_BYTES):
            found = piece[: end_byte - first]
            self._device.read(buffer, found, first)
            self._is_whole = self._is_whole and bool((found == self._byte).all())

    def is_whole(self) -> bool:
        """Return the answer."""
        return self._is_whole


class HostSpots:
    """Keeps elements on the host."""

    def __init__(self, device: Device, places: Array, values: Array, most_seen: int) -> None:
        self._device = device
        self._places, self._values = places, values
        self._seen = np.zeros(most_seen, values.dtype)

    def exchange(self, tensor: Any, keep: Kept | None, then: Kept | Put | None) -> None:
        """Keep and write, in order."""
        for each in (keep, then):
            for number in range(each.count if each else 0):
                self._one(tensor, each, number)

    def seen(self, count: int) -> Array:
        """Return the kept elements."""
        return self._seen[:count].copy()

    def _one(self, tensor: Any, what: Kept | Put | None, number: int) -> None:
        match what:
            case Put():
                spot = (what.start + number) % len(self._places)
                value = self._values[what.row, spot : spot + 1].copy()
                self._device.write(tensor, value, self._first_byte(spot))
            case Kept():
                spot, at = (what.start + number) % len(self._places), what.first + number
                value = np.empty(1, self._seen.dtype)
                self._device.read(tensor, value, self._first_byte(spot))
                self._seen[at] = value[0]

    def _first_byte(self, spot: int) -> int:
        return int(self._places[spot]) * self._values.itemsize
