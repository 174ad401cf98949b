"""What kernels on tensor cores do alike around their products: find their tile, and store it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from mltune.kernel.signature import Signature
from mltune.kernel.split_sum import SplitSum, Sums
from mltune.kernel.template import fill

_FOLDER = Path(__file__).parent
_FREE = {"a": "i", "b": "j"}  # the free index of each operand


def tile_place(signature: Signature, split: SplitSum) -> str:
    """Statements: which macro tile is this work-group's, and where its matrices start."""
    group_0, group_1 = split.in_grid
    return _text(
        "place.cl",
        group=split.group,
        group_0=group_0,
        group_1=group_1,
        position=signature.position,
    )


def tile_chunks(signature: Signature) -> str:
    """Statements: in which pieces A, B and C may be moved, and where A and B begin."""
    places = {f"places_{x}": signature.places(x) for x in "abc"}
    along = {f"along_{x}": _along(signature, x) for x in "ab"}
    return _text("chunks.cl", **places, **along)


def tile_pieces(signature: Signature) -> str:
    """Statements: which pieces of A and B are this work-item's."""
    return "\n".join(
        _text(
            "pieces.cl",
            X=x.upper(),
            x=x,
            along=_along(signature, x),
            free=f"size_{free} - tile_{free}",
        )
        for x, free in _FREE.items()
    )


def _along(signature: Signature, tensor: str) -> str:
    """How far the index reaches that has the shorter stride in A or B."""
    return f"size_{_FREE[tensor]}" if signature.free_is_contiguous(tensor) else "size_l"


def tile_store(
    split: SplitSum, elements: int, is_sliced: bool = False, by_rows: bool = False
) -> str:
    """Statements: what becomes of the sums.

    Args:
        split: how work-groups share them.
        elements: of C that a work-item has.
        is_sliced: whether only those of slice 0 have any.
        by_rows: whether what is not written in vectors goes through local memory.
    """
    sums = Sums("SUM", "(B_TILES / 2)", "A_TILES", "THREADS", elements)
    if is_sliced:
        sums = replace(sums, items="(THREADS / LSU)", has_sums="slice == 0")
    rim = _text("store_local.cl" if by_rows else "store_elements.cl")
    rows = fill(_FOLDER / "store_rows.cl") if by_rows else ""
    return split.store(_FOLDER, sums, rim=rim, rows=rows)


def _text(file: str, **names: str) -> str:
    return fill(_FOLDER / file, **names).rstrip("\n")
