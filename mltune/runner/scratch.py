"""Scratch memory of kernels, with guards, overwritten before a result is checked."""

from __future__ import annotations

import numpy as np

from mltune.device import Buffer, Device
from mltune.runner.data import GUARD_BYTES, NAN_BYTE


class Scratch:
    """One buffer on a device, as large as the next kernel needs.

    It ends where the kernel's part ends, so that a write beyond it is in the guard.
    """

    def __init__(self, device: Device, byte: int = NAN_BYTE) -> None:
        """Make an object without memory.

        Args:
            device: of the memory.
            byte: that fills it and its guards; 0 for counters.
        """
        self._device = device
        self._byte = byte
        self._nbytes = 0
        self._buffer: Buffer = None
        self._inside: Buffer = None

    def of(self, nbytes: int) -> Buffer:
        """Return memory for a kernel that needs so many bytes; None if it needs none.

        Raises:
            LimitError: when they are more than the device allows.
            LaunchError: when there is no memory left.
        """
        if nbytes == 0:
            return None
        if nbytes != self._nbytes:
            self._buffer = self._inside = None  # freed before new memory is requested
            self._nbytes = 0
            words = -(-nbytes // 4) * 4  # a size that the device can fill
            self._buffer = self._device.allocate(GUARD_BYTES + words + GUARD_BYTES)
            self._inside = self._device.part(self._buffer, GUARD_BYTES, nbytes)
            self._nbytes = nbytes
            self.spoil()
        return self._inside

    def spoil(self) -> None:
        """Overwrite all of it, so that no kernel can read what an earlier one left there."""
        if self._buffer is not None:
            self._device.fill(self._buffer, self._byte)

    def guards_untouched(self) -> bool:
        """Whether nothing was written around it."""
        return self._is_full(0, GUARD_BYTES) and self._is_full(
            GUARD_BYTES + self._nbytes, GUARD_BYTES
        )

    def untouched(self) -> bool:
        """Whether it and its guards are as if nothing had been written."""
        return self._is_full(0, GUARD_BYTES + self._nbytes + GUARD_BYTES)

    def _is_full(self, first_byte: int, nbytes: int) -> bool:
        if self._buffer is None:
            return True
        found = np.empty(nbytes, np.uint8)
        self._device.read(self._buffer, found, first_byte)
        return bool((found == self._byte).all())
