"""Sizes in files: CSV with the columns m,n,k[,batch][,count], and YAML lists.

A cell of `batch` or `count` may be empty, as in a file of calls. A CSV file may have further
columns: `trans`, the transposes that a size is used with, such as `tn nn`; `layer`, where it is
used; and `source`.
"""

from __future__ import annotations

import csv
import re
import reprlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from mltune.errors import UsageError
from mltune.problem.size import Size, merge_sizes
from mltune.problem.size_text import parse_size_text
from mltune.reading import read_text
from mltune.reading.yaml_text import Node, YamlError, parse_yaml

_EXTENT_COLUMNS = ("m", "n", "k", "batch")
_KEYS = (*_EXTENT_COLUMNS, "count")
NOTE_COLUMNS = ("trans", "layer", "source")
"""The columns of a file that are not numbers."""
_COLUMNS = (*_KEYS, *NOTE_COLUMNS)
_TRANSPOSES = frozenset(a + b for a in "ntc" for b in "ntc")
_MOST_BYTES = 16 * 2**20

Marked = tuple[Size, tuple[str, ...]]
"""A size, and the transposes that it is used with, if the file names them."""


def read_size_file(path: Path, trans: str = "") -> tuple[Size, ...]:
    """Read the sizes of a `.csv`, `.yaml` or `.yml` file; equal ones are merged.

    Args:
        path: of the file.
        trans: read only sizes that are used with these transposes, such as `nn`, by the column
            `trans` of a CSV file.

    Raises:
        UsageError: when the file cannot be read, or is something else; it names the line.
    """
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise UsageError(f"{path}: a file of sizes must end in {', '.join(_READERS)}")
    text = read_text(path, _MOST_BYTES)
    marked = reader(text, path)
    sizes = merge_sizes(size for size, occurs in marked if not trans or trans in occurs)
    if not sizes:
        raise UsageError(f"{path}: holds no sizes" + (f" that occur as {trans}" if trans else ""))
    return sizes


def transposes_in(path: Path) -> tuple[str, ...]:
    """Return the transposes in the column `trans` of a CSV file, in alphabetical order.

    Raises:
        UsageError: as `read_size_file`.
    """
    found = _read_csv(read_text(path, _MOST_BYTES), path)
    return tuple(sorted({trans for _, occurs in found for trans in occurs}))


def csv_rows(text: str, path: Path, known: Sequence[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Read CSV whose first row names columns, among them m, n and k.

    Blank lines and lines that begin with `#` are skipped.

    Args:
        text: of the file.
        path: for messages.
        known: the allowed columns.

    Yields:
        The place of a row, for messages, and its cells by column.

    Raises:
        UsageError: when the first row is wrong, or a row has more or fewer cells or is no CSV.
    """
    columns: list[str] | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        where = f"{path}: line {number}"
        try:
            cells = [cell.strip() for cell in next(csv.reader([line]))]
        except csv.Error as error:
            raise UsageError(f"{where}: not CSV ({error})") from error
        if columns is None:
            columns = _header(cells, known, where)
        elif len(cells) != len(columns):
            raise UsageError(f"{where}: expected {len(columns)} cells, got {len(cells)}")
        else:
            yield where, dict(zip(columns, cells, strict=True))


def _read_csv(text: str, path: Path) -> Iterator[Marked]:
    for where, row in csv_rows(text, path, _COLUMNS):
        yield _row(row, where)


def _header(cells: list[str], known: Sequence[str], where: str) -> list[str]:
    columns = [cell.lower() for cell in cells]
    for column in columns:
        if column not in known:
            raise UsageError(f"{where}: unknown column '{column}' (known: {', '.join(known)})")
        if columns.count(column) > 1:
            raise UsageError(f"{where}: column '{column}' stands twice")
    if missing := [column for column in "mnk" if column not in columns]:
        raise UsageError(f"{where}: the first row must name the columns m,n,k; no '{missing[0]}'")
    return columns


def _row(row: dict[str, str], where: str) -> Marked:
    values: dict[str, int] = {}
    occurs: tuple[str, ...] = ()
    for column, cell in row.items():
        if column == "trans":
            occurs = tuple(cell.lower().split())
            if wrong := [word for word in occurs if word not in _TRANSPOSES]:
                raise UsageError(f"{where}: trans must be nn, nt, tn, ..., got '{wrong[0]}'")
        if column in NOTE_COLUMNS or (not cell and column in ("batch", "count")):
            continue
        if not re.fullmatch(r"[0-9]{1,10}", cell):
            needed = "a whole number of at most 10 digits"
            raise UsageError(f"{where}: {column} must be {needed}, got '{cell:.40}'")
        values[column] = int(cell)
    return _size(values, where), occurs


def _read_yaml(text: str, path: Path) -> Iterator[Marked]:
    try:
        node = parse_yaml(text)
    except YamlError as error:
        line = f"line {error.line}: " if error.line else ""
        raise UsageError(f"{path}: {line}not YAML ({error.reason})") from error
    if node is None or node.is_mapping or isinstance(node.content, str):
        raise UsageError(f"{path}: expected a list of sizes, such as '- 512x512x64'")
    for item in node.content:
        for size in _item(item, f"{path}: line {item.line}"):
            yield size, ()


def _item(item: Node, where: str) -> tuple[Size, ...]:
    if item.tag:
        raise UsageError(f"{where}: tag '{item.tag}' is not supported")
    if isinstance(item.content, str):
        try:
            return parse_size_text(item.content)
        except UsageError as error:
            raise UsageError(f"{where}: {error}") from error
    values = [_scalar(entry, where) for entry in item.content]
    if item.is_mapping:
        return (_mapping(list(zip(values[::2], values[1::2], strict=True)), where),)
    extents = [value for value in values if isinstance(value, int)]
    if len(extents) < len(values):
        raise UsageError(f"{where}: expected [m, n, k], got {reprlib.repr(values)}")
    return (_checked(tuple(extents), 1, where),)


def _scalar(node: Node, where: str) -> int | str:
    if not isinstance(node.content, str):
        raise UsageError(
            f"{where}: expected MxNxK, [m, n, k] or {{m: , n: , k: }}, got a list in a list"
        )
    is_number = node.is_plain and re.fullmatch(r"-?[0-9]{1,18}", node.content)
    return int(node.content) if is_number else node.content


def _mapping(pairs: list[tuple[int | str, int | str]], where: str) -> Size:
    values: dict[str, int] = {}
    for key, value in pairs:
        if key not in _KEYS:
            raise UsageError(
                f"{where}: unknown key {reprlib.repr(key)} (known: {', '.join(_KEYS)})"
            )
        if not isinstance(value, int):
            raise UsageError(f"{where}: {key} must be a whole number, got {reprlib.repr(value)}")
        if key in values:
            raise UsageError(f"{where}: key '{key}' stands twice")
        values[str(key)] = value
    if missing := [key for key in "mnk" if key not in values]:
        raise UsageError(f"{where}: '{missing[0]}' is missing")
    return _size(values, where)


def _size(values: dict[str, int], where: str) -> Size:
    extents = tuple(values[column] for column in _EXTENT_COLUMNS if column in values)
    return _checked(extents, values.get("count", 1), where)


def _checked(extents: tuple[int, ...], count: int, where: str) -> Size:
    try:
        return Size(extents, count)
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from error


_READERS: dict[str, Callable[[str, Path], Iterator[Marked]]] = {
    ".csv": _read_csv,
    ".yaml": _read_yaml,
    ".yml": _read_yaml,
}
