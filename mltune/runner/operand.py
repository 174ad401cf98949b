"""A matrix that kernels only read, with a checksum that shows whether a kernel wrote to it.

Around its guards are margins of random width. All of them are NaN, which spoils every sum that
reads them.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from mltune.device import Buffer, Device
from mltune.runner.data import GUARD_BYTES, NAN_BYTE, Array, Layout

MARGIN_BYTES = 256 << 10
"""The widest margin on one side."""

Put = Callable[[Buffer, int], None]


@dataclass(frozen=True, slots=True, eq=False)
class Operand:
    """One operand on a device.

    Attributes:
        inside: the kernels' argument.
        whole: all of its memory.
        first_byte: of the guarded matrix in `whole`.
        checksum: of all of its memory, before any kernel ran.
    """

    device: Device
    inside: Buffer
    whole: Buffer
    first_byte: int
    checksum: int

    @classmethod
    def make(cls, device: Device, layout: Layout, put: Put) -> Operand:
        """Make an operand.

        Args:
            device: of the memory.
            layout: of its elements between its guards.
            put: called with memory full of NaN and the first byte of the guarded matrix in it;
                writes the elements.

        Raises:
            LimitError: when it is larger than the device allows.
            LaunchError: when there is no memory left.
        """
        guarded = -(-layout.nbytes // 4) * 4
        left = device.info.max_alloc_bytes - guarded - GUARD_BYTES
        before, after = (
            random.SystemRandom().randint(0, max(min(MARGIN_BYTES, left // 2), 0) // GUARD_BYTES)
            * GUARD_BYTES
            for _ in range(2)
        )
        whole = device.allocate(before + guarded + after)
        device.fill(whole, NAN_BYTE)
        put(whole, before)
        return cls(
            device=device,
            inside=device.part(whole, before + GUARD_BYTES, layout.tensor_bytes),
            whole=whole,
            first_byte=before,
            checksum=device.inspection.checksums(whole)[0],
        )

    @classmethod
    def upload(cls, device: Device, layout: Layout, guarded: Array) -> Operand:
        """Make an operand of a matrix in its guards; `make` says what is raised."""
        return cls.make(device, layout, lambda whole, at: device.write(whole, guarded, at))


def untouched(*operands: Operand) -> bool:
    """Whether one or two operands, and all memory around them, are unchanged."""
    found = operands[0].device.inspection.checksums(*(each.whole for each in operands))
    return found == tuple(each.checksum for each in operands)
