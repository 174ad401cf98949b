"""A device's memory on the host."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


class HostBuffer:
    """A buffer, or a part of one.

    Attributes:
        whole: all bytes of the buffer.
        first_byte: the begin of this part.
        size: its bytes.
    """

    def __init__(self, whole: Array, first_byte: int, size: int) -> None:
        self.whole, self.first_byte, self.size = whole, first_byte, size

    @property
    def bytes(self) -> Array:
        """Its bytes, writable."""
        return self.whole[self.first_byte : self.first_byte + self.size]


class HostMemory:
    """The memory methods of a `Device`, as a base class."""

    def part(self, buffer: HostBuffer, first_byte: int, nbytes: int) -> HostBuffer:
        """Return a part of a buffer."""
        return HostBuffer(buffer.whole, buffer.first_byte + first_byte, nbytes)

    def write(self, buffer: HostBuffer, array: Array, first_byte: int = 0) -> None:
        """Fill a buffer from an array."""
        given = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        buffer.bytes[first_byte : first_byte + given.size] = given

    def read(self, buffer: HostBuffer, array: Array, first_byte: int = 0) -> None:
        """Fill an array from a buffer."""
        array.reshape(-1).view(np.uint8)[:] = buffer.bytes[first_byte : first_byte + array.nbytes]

    def copy(self, source: HostBuffer, target: HostBuffer) -> None:
        """Copy a buffer to the beginning of another one."""
        target.bytes[: source.size] = source.bytes

    def fill(
        self, buffer: HostBuffer, byte: int = 0, first_byte: int = 0, end_byte: int | None = None
    ) -> None:
        """Overwrite a buffer, to a multiple of 4."""
        end = (buffer.size if end_byte is None else end_byte) // 4 * 4
        buffer.bytes[first_byte:end] = byte
