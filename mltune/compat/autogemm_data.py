"""AutoGEMM's kernel selection data: the tile for each size.

It is in `AutoGemmParameters.py`, which is read, not run. For a size, the first entry counts whose
own size squared is at most m * n. Its first tile that divides m and n is used, or else its
fallback.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from mltune.compat.tensile.complete import complete
from mltune.errors import UsageError
from mltune.problem import Precision
from mltune.reading import parse_json
from mltune.selector import Leaf, Split, Tree
from mltune.selector.rest import rest_name
from mltune.space.config import Config

SECTION = "kernelSelectionData"

_TABLE = re.compile(rf"^({SECTION}\w*)[ \t]*=[ \t]*(?=\{{)", re.M)
_CHOSEN = re.compile(rf"^{SECTION}[ \t]*=[ \t]*({SECTION}\w+)[ \t\r]*$", re.M)
_UNROLLS = re.compile(r"^unrolls[ \t]*=[ \t]*(?=\{)", re.M)
_COMMENT = re.compile(r"#[^\n]*")
_BRACKET = re.compile(r"[\[\]{}]")
_SIDES = {"work_group_0": 0, "work_group_1": 1, "thread_tile_0": 2, "thread_tile_1": 3}
_UNROLL = 8
"""The default of AutoGEMM."""

Tile = tuple[int, ...]
"""Rows and columns of a work-group, then rows and columns of a work-item."""


@dataclass(frozen=True, slots=True)
class Entry:
    """The tiles for products with at least `size` * `size` elements of C."""

    size: int
    fallback: Tile
    tiles: tuple[Tile, ...]


@dataclass(frozen=True, slots=True)
class SelectionData:
    """The selection data of a precision.

    Attributes:
        entries: the largest size first; smaller sizes than the last one's get its fallback.
        unroll: terms of a sum that a pass of the loop takes.
    """

    precision: Precision
    entries: tuple[Entry, ...]
    unroll: int

    @property
    def tiles(self) -> tuple[Tile, ...]:
        """All tiles, each once."""
        found = (tile for each in self.entries for tile in (*each.tiles, each.fallback))
        return tuple(dict.fromkeys(found))

    def configs(self) -> tuple[Config, ...]:
        """The tiles as configs of `tiled`, with separate kernels for whole tiles and edges."""
        return tuple(
            complete(
                {name: tile[place] for name, place in _SIDES.items()}
                | {"depth_u": self.unroll, "edge_type": "remainder", "vector_width": 1}
            )
            for tile in self.tiles
        )

    def tree(self) -> Tree:
        """Return the rules as a tree, with the numbers of the configs."""
        number = {tile: place for place, tile in enumerate(self.tiles)}
        tree: Tree = Leaf(number[self.entries[-1].fallback])
        for entry in reversed(self.entries):
            here: Tree = Leaf(number[entry.fallback])
            for tile in reversed(entry.tiles):
                whole = rest_name((tile[0] * tile[2], tile[1] * tile[3], 1))
                fits = Leaf(number[tile])
                here = here if here == fits else Split(whole, 0, fits, here)
            smaller = entry.size**2 - 1
            tree = here if smaller < 0 else Split("mn", smaller, tree, here)
        return tree


def read_selection_data(text: str, name: str) -> tuple[list[SelectionData], list[str]]:
    """Read the data, with a line for each part that is left out.

    Raises:
        UsageError: when there is none, or it is no such table.
    """
    text = _COMMENT.sub("", text)
    tables = {match[1]: _literal(text, match.end(), name) for match in _TABLE.finditer(text)}
    chosen = match[1] if (match := _CHOSEN.search(text)) else SECTION
    if len(tables) == 1:
        chosen = next(iter(tables))
    if chosen not in tables:
        raise UsageError(f"{name}: there is no table {chosen} (found: {', '.join(tables)})")
    notes = [f"{name}: {other} is not used, but {chosen}" for other in tables if other != chosen]
    unrolls: Mapping[str, Any] = {}
    if match := _UNROLLS.search(text):
        unrolls = _literal(text, match.end(), name)
    table, known = tables[chosen], {each.letter: each for each in Precision}
    for letter in table:
        if letter not in known:
            raise UsageError(f"{name}: {chosen}: {letter!r:.40} is no precision")
    return [
        SelectionData(
            known[letter],
            tuple(_entries(rows, f"{name}: {chosen}: {letter!r}")),
            _unroll(unrolls.get(letter), name),
        )
        for letter, rows in table.items()
    ], notes


def _literal(text: str, start: int, name: str) -> Any:
    """Return the dictionary that begins there: of text, lists and whole numbers, as JSON."""
    depth, end = 0, len(text)
    for bracket in _BRACKET.finditer(text, start):
        depth += 1 if bracket[0] in "{[" else -1
        if depth == 0:
            end = bracket.end()
            break
    body = re.sub(r",(\s*[\]}])", r"\1", text[start:end].replace("'", '"'))
    try:
        return parse_json(body)
    except UsageError as error:
        raise UsageError(f"{name}: {SECTION}: {error}") from error


def _entries(rows: Any, where: str) -> Iterator[Entry]:
    entries = [_entry(row, where) for row in rows] if isinstance(rows, list) else []
    if not entries:
        raise UsageError(f"{where}: must be a list of entries, got {rows!r:.60}")
    for before, after in pairwise(entries):
        if after.size >= before.size:
            raise UsageError(f"{where}: sizes must fall, got {after.size} after {before.size}")
    yield from entries


def _entry(row: Any, where: str) -> Entry:
    if isinstance(row, list) and len(row) == 3 and isinstance(row[2], list):
        size, fallback, tiles = row
        if _is_whole(size, 0) and all(map(_is_tile, (fallback, *tiles))):
            return Entry(size, tuple(fallback), tuple(map(tuple, tiles)))
    raise UsageError(
        f"{where}: an entry must be [size, fallback tile, [tile, ...]], got {row!r:.60}"
    )


def _is_tile(tile: Any) -> bool:
    return isinstance(tile, list) and len(tile) == 4 and all(_is_whole(one, 1) for one in tile)


def _is_whole(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value < 1 << 20


def _unroll(unrolls: Any, name: str) -> int:
    """Return the first unroll; kernels here take any number of terms, so one is enough."""
    if unrolls is None:
        return _UNROLL
    if not isinstance(unrolls, list) or not unrolls or not _is_whole(unrolls[0], 1):
        raise UsageError(f"{name}: unrolls must be lists of whole numbers, got {unrolls!r:.40}")
    return int(unrolls[0])
