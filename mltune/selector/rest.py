"""Remainder features: what whole tiles leave of a size, 0 if they fit exactly.

`rest_128x64x16` is m % 128 + n % 64 + k % 16: one split decides, as in AutoGEMM, whether a tile of
128 x 64 with 16 terms a step fits without an edge.
"""

from __future__ import annotations

import re
from functools import lru_cache

from mltune.space.expression import Name, Node, Number, Operation, chain

Tile = tuple[int, int, int]

_NAME = re.compile(r"rest_([1-9][0-9]{0,8})x([1-9][0-9]{0,8})x([1-9][0-9]{0,8})")


def rest_name(tile: Tile) -> str:
    """Return the name of a tile's feature."""
    return f"rest_{'x'.join(map(str, tile))}"


@lru_cache(maxsize=4096)  # cached as in tiling.py
def rest_tile(feature: str) -> Tile | None:
    """Return the tile of a feature; None if it is no remainder feature."""
    match = _NAME.fullmatch(feature)
    return (int(match[1]), int(match[2]), int(match[3])) if match else None


def rest_expression(tile: Tile) -> Node:
    """Return the feature as an expression of m, n and k."""
    pairs = list(zip("mnk", tile, strict=True))
    asked = [(size, extent) for size, extent in pairs if extent > 1] or pairs[:1]
    rests = [Operation("%", (Name(size), Number(extent))) for size, extent in asked]
    return chain("+", rests)


def any_rest(tile: Tile) -> Node:
    """Return an expression that is 0 if the feature is 0, and else positive.

    It reads the last bits of all extents at once, where the tile's are one power of two.
    """
    asked = {extent for extent in tile if extent > 1}
    if len(asked) != 1 or (extent := asked.pop()) & (extent - 1):
        return rest_expression(tile)
    sizes = [Name(size) for size, each in zip("mnk", tile, strict=True) if each > 1]
    return Operation("&", (chain("|", sizes), Number(extent - 1)))
