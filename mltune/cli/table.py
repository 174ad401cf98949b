"""Tables that fit the terminal: wide text is wrapped, and columns without room come below."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

GAP = "  "
_NARROWEST = 18
"""Text is wrapped to this many columns before a table is split."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column as text; numbers are on the right."""

    name: str
    cells: tuple[str, ...]
    is_number: bool

    @property
    def width(self) -> int:
        """The columns of the terminal that it needs without wrapping."""
        return max(map(len, (self.name, *self.cells)))


def table_blocks(columns: Sequence[Column], room: int | None) -> Iterator[list[list[str]]]:
    """Lay a table out in `room` columns of a terminal; None is endless.

    Yields:
        Blocks one below the other, each as lines of padded cells, its header first. Blocks after
        the first begin with the first column again.
    """
    widths = [column.width for column in columns]
    if room is not None:
        widths = _shrunk(columns, widths, room)
    for block in _split(widths, room):
        yield _lines([columns[at] for at in block], [widths[at] for at in block])


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(GAP) * (len(widths) - 1)


def _shrunk(columns: Sequence[Column], widths: Sequence[int], room: int) -> list[int]:
    """Wrap the widest text first, as far as needed and possible."""
    found = list(widths)
    while (excess := _total(found) - room) > 0:
        wide = [at for at, one in enumerate(columns) if not one.is_number]
        at = max(wide, key=found.__getitem__, default=None)
        if at is None or found[at] <= _NARROWEST:
            break
        others = [found[each] for each in wide if each != at]
        found[at] = max(_NARROWEST, found[at] - excess, min(max(others, default=0), found[at] - 1))
    if _total(found) <= room:
        return found
    first = min(columns[0].width, max(room // 2, _NARROWEST)) if columns else 0
    beside = max(room - first - len(GAP), _NARROWEST)
    return [min(column.width, beside if at else first) for at, column in enumerate(columns)]


def _split(widths: Sequence[int], room: int | None) -> Iterator[list[int]]:
    """Yield the columns of each block."""
    block = list(range(min(len(widths), 1)))
    for at in range(1, len(widths)):
        wider = _total([widths[each] for each in (*block, at)])
        if room is not None and len(block) > 1 and wider > room:
            yield block
            block = [0]
        block.append(at)
    yield block


def _lines(columns: Sequence[Column], widths: Sequence[int]) -> list[list[str]]:
    rows = zip(*((column.name, *column.cells) for column in columns), strict=True)
    lines = []
    for row in rows:
        parts = [_wrapped(cell, width) for cell, width in zip(row, widths, strict=True)]
        for number in range(max(map(len, parts), default=0)):
            cells = [part[number] if number < len(part) else "" for part in parts]
            lines.append(
                [
                    cell.rjust(width) if column.is_number else cell.ljust(width)
                    for cell, column, width in zip(cells, columns, widths, strict=True)
                ]
            )
    return lines


def _wrapped(cell: str, width: int) -> list[str]:
    """Break a text at spaces, else behind the punctuation of names and paths."""
    if len(cell) <= width:
        return [cell]
    lines: list[str] = []
    for line in textwrap.wrap(cell, width, break_long_words=False, break_on_hyphens=False):
        while len(line) > width:
            marks = [mark.end() for mark in re.finditer(r"[_/,;:.-]", line[:width])]
            cut = marks[-1] if marks else width
            lines.append(line[:cut])
            line = line[cut:]
        lines.append(line)
    return lines
