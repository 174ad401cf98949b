"""Operands that run along the sum, and lie so in local memory, too: read as vectors along it.

Tensile calls it TransposeLDS, and later UnrollMajorLDS. Such a tile is copied vector by vector,
where turning it takes a write for every element. A work-item reads some terms of each of its rows
or columns at once, and multiplies one after another.
"""

from __future__ import annotations

from mltune.kernel.arithmetic import Arithmetic, largest_width
from mltune.kernel.rules import Settings

_LINE_BYTES = 128  # what local memory's banks hold side by side


def width_along(settings: Settings, arithmetic: Arithmetic) -> int:
    """Terms in a vector along the sum."""
    return min(settings.number("vector_width_u"), arithmetic.widest)


def row_swizzle(depth_u: int, together: int, element_bytes: int) -> tuple[int, int]:
    """How vectors of a row are permuted, so that work-items that read together use no bank twice.

    Args:
        depth_u: terms in a row.
        together: of them that are read or written at once.
        element_bytes: of one of them.

    Returns:
        How many rows lie beside each other in the banks, and so may keep their order alike, and
        the number of places that the vectors of the next ones are moved among.
    """
    in_line = max(1, _LINE_BYTES // (together * element_bytes))
    places = largest_width(in_line, depth_u // together)
    return in_line // places, places
