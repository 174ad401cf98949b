"""Tables as text, and JSON for programs."""

from __future__ import annotations

import json
import string
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import chain, count, product
from typing import Any, Protocol, TypeVar

from mltune.cli.table import GAP, Column, table_blocks
from mltune.cli.terminal import columns, say

Cell = str | int | float | None


def print_json(document: dict[str, Any]) -> None:
    """Print one JSON document on stdout."""
    print(json.dumps(document, indent=2, allow_nan=False))


class Result(Protocol):
    """The result of a verb, with the next commands."""

    @property
    def next_commands(self) -> tuple[str, ...]:
        """Return lines with the commands."""
        ...

    def to_json(self) -> dict[str, Any]:
        """Return the document that `--json` prints."""
        ...


R = TypeVar("R", bound=Result)


def conclude(result: R, show: Callable[[R], None], *, as_json: bool) -> None:
    """Print a result as one JSON document or by `show`; JSON output has no next commands."""
    if as_json:
        print_json(result.to_json())
    else:
        show(result)
    for line in result.next_commands:
        print(line, file=sys.stderr if as_json else sys.stdout)


def table_width(header: Sequence[str], rows: Sequence[Sequence[Cell]]) -> int:
    """Return the columns of the terminal for `print_table`."""
    return sum(len(GAP) + column.width for column in _columns(header, rows)) - len(GAP)


def short_number(value: float | None) -> Short | None:
    """Return a number that a table shows with three digits."""
    return None if value is None else Short(value)


class Short(float):
    """A number that a table shows with three digits."""


def print_table(header: Sequence[str], rows: Sequence[Sequence[Cell]]) -> None:
    """Print a table on stdout: text on the left, numbers on the right.

    On a terminal it is at most as wide as that: text is wrapped, and further columns come below.
    """
    for number, block in enumerate(table_blocks(_columns(header, rows), columns())):
        if number:
            print()
        for at, line in enumerate(block):
            say(*(part for cell in line for part in ((cell, _style(cell, at)), (GAP, ""))))


def _columns(header: Sequence[str], rows: Sequence[Sequence[Cell]]) -> list[Column]:
    return [
        Column(
            name,
            tuple(_cell(row[at]) for row in rows),
            bool(rows) and all(not isinstance(row[at], str) for row in rows),
        )
        for at, name in enumerate(header)
    ]


def _style(cell: str, line: int) -> str:
    """Return the style of a heading, a status, or other text."""
    return "heading" if line == 0 else _status_styles().get(cell.strip(), "")


@cache
def _status_styles() -> dict[str, str]:
    from mltune.measurement import Status  # not for --help, which loads nothing

    return {one.value: "good" if one is Status.OK else "bad" for one in Status}


def _cell(cell: Cell) -> str:
    if cell is None:
        return "-"
    if isinstance(cell, Short):
        return f"{cell:,.0f}" if cell >= 99.95 else f"{cell:#.3g}"
    return number_text(cell) if isinstance(cell, float) else str(cell)


def number_text(value: float) -> str:
    """Write a number with four digits, without an exponent unless it is tiny."""
    size = abs(value)
    if size >= 999.95:
        return f"{value:,.0f}"
    return f"{value:#.4g}" if size >= 1e-4 or value == 0 else f"{value:.2e}"


def short_names(names: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Split long kernel names into parts that differ and parts that all share.

    Returns:
        For each name, its macro tile and the parts that not all names have; and the parts that all
        have. Names without a differing part keep all their parts.
    """
    split = [name.split("_") for name in names]
    shared = [
        part
        for part in (split[0] if split else [])
        if not part.startswith("MT") and all(part in parts for parts in split)
    ]
    own = [[part for part in parts if part not in shared] for parts in split]
    if not all(own):
        return tuple(" ".join(parts) for parts in split), ()
    return tuple(" ".join(parts) for parts in own), tuple(shared)


def kernel_letters(kernels: Iterable[str]) -> dict[str, str]:
    """Return letters for each kernel of a table, in their order: a to z, then aa, ab, ..."""
    groups = (product(string.ascii_lowercase, repeat=length) for length in count(1))
    letters = map("".join, chain.from_iterable(groups))
    return dict(zip(dict.fromkeys(kernels), letters, strict=False))


def print_kernels(letters: Mapping[str, str]) -> None:
    """Print which kernel has which letter."""
    names, shared = short_names(list(letters))
    for letter, name in zip(letters.values(), names, strict=True):
        print(f"{letter}: {name}")
    if shared:
        print(f"every kernel: {' '.join(shared)}")


def duration_text(seconds: float) -> str:
    """Write a duration in at most two units."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
