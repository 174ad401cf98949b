"""Operands that run along the sum, and lie so in local memory, too: read as vectors along it.

Tensile calls it TransposeLDS, and later UnrollMajorLDS. Such a tile is copied vector by vector,
where turning it takes a write for every element. A work-item reads some terms of each of its rows
or columns at once, and multiplies one after another.
"""

from __future__ import annotations

from mltune.kernel.arithmetic import Arithmetic, largest_width
from mltune.kernel.rules import Settings
from mltune.kernel.template import Definition

_LINE_BYTES = 128  # what local memory's banks hold side by side


def width_along(settings: Settings, arithmetic: Arithmetic) -> int:
    """Terms in a vector along the sum."""
    return min(settings.number("vector_width_u"), arithmetic.widest)


def definitions(settings: Settings, arithmetic: Arithmetic) -> tuple[Definition, ...]:
    """The macros of both operands."""
    width = width_along(settings, arithmetic)
    return (("VWU", width), ("VECTOR_U", arithmetic.vector(width)))


def row_swizzle(depth_u: int, together: int, element_bytes: int) -> tuple[int, int]:
    """How vectors of a row change places, so that those who read together meet no bank twice.

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


def row_swizzle_definition(
    operand: str, depth_u: int, together: int, element_bytes: int
) -> Definition:
    """The macro for the place of term l in a row of operand `A` or `B`; see `row_swizzle`."""
    rows, places = row_swizzle(depth_u, together, element_bytes)
    # The same in all the rows of a work-item, so that these are a constant apart.
    work_item = f"(row) % WG{'AB'.index(operand)}"
    return f"{operand}_SWIZZLE(row, l)", f"((l) ^ {work_item} / {rows} % {places} * {together})"


def take_definition(operand: str, width: int, arithmetic: Arithmetic) -> Definition:
    """The macro for number `term` of the vectors that give a work-item's n-th part.

    Args:
        operand: `A` or `B`.
        width: elements along the free index in a part.
        arithmetic: of the kernel.
    """
    # A literal: pip's PoCL hands vectors that were written by elements wrongly to fma and mad.
    vectors = (f"along_{operand.lower()}[(n) * {width} + {e}]" for e in range(width))
    elements = ", ".join(f"ELEMENT({vector}, term)" for vector in vectors)
    return f"TAKE_{operand}(n, term)", f"(({arithmetic.vector(width)})({elements}))"
