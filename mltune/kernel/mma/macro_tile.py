"""The common parts of kernels on tensor cores: finding and storing their tile."""

from __future__ import annotations

from dataclasses import dataclass

from mltune.kernel.signature import Signature
from mltune.kernel.split_sum import Sums

FEW_TERMS = 4
"""From this number of terms on, the error of splitting is far below the rounding error."""


@dataclass(frozen=True, slots=True)
class TileOperand:
    """A or B, for the templates.

    Attributes:
        x: `a` or `b`.
        i: the free index.
        free_is_contiguous: whether that runs along global memory; else the summed one.
    """

    x: str
    i: str
    free_is_contiguous: bool

    @property
    def X(self) -> str:  # noqa: N802 - the operand's name in the names of macros
        """`A` or `B`."""
        return self.x.upper()


def tile_operands(signature: Signature) -> tuple[TileOperand, ...]:
    """Describe A and B."""
    return tuple(
        TileOperand(x, i, signature.free_is_contiguous(x)) for x, i in zip("ab", "ij", strict=True)
    )


def tile_sums(elements: int, is_sliced: bool = False) -> Sums:
    """Return how work-items store their sums.

    Args:
        elements: of C that a work-item has.
        is_sliced: whether only those of slice 0 have any.
    """
    if is_sliced:
        items, has_sums = "(THREADS / LSU)", "slice == 0"
    else:
        items, has_sums = "THREADS", ""
    return Sums("SUM", "(B_TILES / 2)", "A_TILES", items, elements, has_sums)
