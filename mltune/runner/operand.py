"""A matrix that kernels only read, with a checksum that tells whether one of them wrote to it.

Its guards are surrounded by margins whose widths nobody can know beforehand. All of them are NaN,
which spoils every sum that reads them.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from mltune.device import Buffer, Device
from mltune.runner.data import GUARD_BYTES, Array

MARGIN_BYTES = 256 << 10
"""The widest margin at one side."""

_NAN_BYTE = 0xFF  # a number of such bytes is NaN, whatever its precision


@dataclass(frozen=True, slots=True, eq=False)
class Operand:
    """One operand on a device.

    Attributes:
        inside: what kernels are given.
        whole: all of its memory.
        checksum: of all of its memory, when nobody had written to it.
    """

    device: Device
    inside: Buffer
    whole: Buffer
    checksum: int

    @classmethod
    def make(cls, device: Device, guarded: Array, tensor_bytes: int) -> Operand:
        """Upload an operand.

        Args:
            device: where to.
            guarded: the matrix in its guards.
            tensor_bytes: of what lies between the guards.

        Raises:
            LimitError: when it is larger than the device allows.
            LaunchError: when there is no memory left.
        """
        left = device.info.max_alloc_bytes - guarded.nbytes - GUARD_BYTES
        before, after = (
            random.SystemRandom().randint(0, max(min(MARGIN_BYTES, left // 2), 0) // GUARD_BYTES)
            * GUARD_BYTES
            for _ in range(2)
        )
        whole = device.allocate(before + -(-guarded.nbytes // 4) * 4 + after)
        device.fill(whole, _NAN_BYTE)
        device.write(whole, guarded, before)
        return cls(
            device=device,
            inside=device.part(whole, before + GUARD_BYTES, tensor_bytes),
            whole=whole,
            checksum=device.inspection.checksums(whole)[0],
        )


def untouched(*operands: Operand) -> bool:
    """Whether one or two operands of a device, and all around them, are as they were made."""
    found = operands[0].device.inspection.checksums(*(each.whole for each in operands))
    return found == tuple(each.checksum for each in operands)
