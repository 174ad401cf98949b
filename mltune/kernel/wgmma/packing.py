"""The passes of `wgmma` that pack A and B for products in single precision."""

from __future__ import annotations

from mltune.kernel.passes import Area, Pass

DEPTH = 32
"""Terms of a tile: a swizzled row of 128 bytes, of single or of pairs of halves."""

ITEMS = 256
"""Work-items of a work-group that packs."""

ROWS = 32
"""Elements along the free index that it packs, over the terms of two tiles."""

INDICES = {"a": "il", "b": "jl"}
"""An operand's free index and the sum."""


def pack_name(name: str, operand: str) -> str:
    """The name of the pass that packs A or B for the kernel of this name."""
    return f"{name}_pack_{operand}"


def pack_pass(name: str, operand: str) -> Pass:
    """The pass that packs A or B for the kernel of this name."""
    return Pass(
        entry=pack_name(name, operand),
        work_group=(ITEMS, 1, 1),
        tile=(ROWS, 2 * DEPTH),
        over=INDICES[operand],
    )


def pack_both(name: str, terms: int) -> Pass:
    """The pass that packs A and B in one launch, of so many terms each work-group."""
    return Pass(
        entry=f"{name}_pack", work_group=(ITEMS, 1, 1), tile=(ROWS, terms), over="il", then="j"
    )


def packed_areas(
    macro_tile: tuple[int, int], element_bytes: int, terms: int = 2 * DEPTH
) -> tuple[Area, Area]:
    """The scratch memory for A and B, which are packed in multiples of so many terms."""
    a, b = (
        Area(element_bytes=element_bytes, tile=(extent, terms), over=INDICES[operand])
        for operand, extent in zip("ab", macro_tile, strict=True)
    )
    return a, b
