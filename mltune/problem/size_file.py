"""Sizes in files: CSV with the columns m,n,k[,batch][,count], and YAML lists."""

from __future__ import annotations

import csv
import re
import reprlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml

from mltune.errors import UsageError
from mltune.problem.size import Size, merge_sizes
from mltune.problem.size_text import parse_size_text

_EXTENT_COLUMNS = ("m", "n", "k", "batch")
_COLUMNS = (*_EXTENT_COLUMNS, "count")


def read_size_file(path: Path) -> tuple[Size, ...]:
    """Read the sizes of a `.csv`, `.yaml` or `.yml` file; equal ones are merged.

    Raises:
        UsageError: when the file cannot be read or holds anything else; it names the line.
    """
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise UsageError(f"{path}: a file of sizes must end in {', '.join(_READERS)}")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot read sizes ({_reason(error)})") from error
    sizes = merge_sizes(reader(text, path))
    if not sizes:
        raise UsageError(f"{path}: holds no sizes")
    return sizes


def _reason(error: OSError | UnicodeDecodeError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8 text: {error.reason} at byte {error.start}"
    return error.strerror or str(error)


def _read_csv(text: str, path: Path) -> Iterator[Size]:
    columns: list[str] | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        where = f"{path}: line {number}"
        cells = [cell.strip() for cell in next(csv.reader([line]))]
        if columns is None:
            columns = _header(cells, where)
        else:
            yield _row(columns, cells, where)


def _header(cells: list[str], where: str) -> list[str]:
    columns = [cell.lower() for cell in cells]
    for column in columns:
        if column not in _COLUMNS:
            raise UsageError(f"{where}: unknown column '{column}' (known: {', '.join(_COLUMNS)})")
        if columns.count(column) > 1:
            raise UsageError(f"{where}: column '{column}' stands twice")
    if missing := [column for column in "mnk" if column not in columns]:
        raise UsageError(f"{where}: the first row must name the columns m,n,k; no '{missing[0]}'")
    return columns


def _row(columns: list[str], cells: list[str], where: str) -> Size:
    if len(cells) != len(columns):
        raise UsageError(f"{where}: expected {len(columns)} cells, got {len(cells)}")
    values: dict[str, int] = {}
    for column, cell in zip(columns, cells, strict=True):
        if not re.fullmatch(r"[0-9]{1,10}", cell):
            raise UsageError(f"{where}: {column} must be a whole number, got '{cell}'")
        values[column] = int(cell)
    return _size(values, where)


def _read_yaml(text: str, path: Path) -> Iterator[Size]:
    try:
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        if not isinstance(node, yaml.SequenceNode):
            raise UsageError(f"{path}: expected a list of sizes, such as '- 512x512x64'")
        for item in node.value:
            where = f"{path}: line {item.start_mark.line + 1}"
            yield from _item(loader.construct_object(item, deep=True), where)
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise UsageError(f"{path}: {line}not YAML ({error.problem})") from error
    except RecursionError as error:
        raise UsageError(f"{path}: not YAML (nested too deeply)") from error
    except (yaml.YAMLError, ValueError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise UsageError(f"{path}: not YAML ({reason})") from error


def _item(item: Any, where: str) -> tuple[Size, ...]:
    if isinstance(item, str):
        try:
            return parse_size_text(item)
        except UsageError as error:
            raise UsageError(f"{where}: {error}") from error
    if isinstance(item, list) and item and all(type(extent) is int for extent in item):
        return (_checked(tuple(item), 1, where),)
    if isinstance(item, dict):
        return (_mapping(item, where),)
    raise UsageError(
        f"{where}: expected MxNxK, [m, n, k] or {{m: , n: , k: }}, got {reprlib.repr(item)}"
    )


def _mapping(item: dict[Any, Any], where: str) -> Size:
    for key, value in item.items():
        if key not in _COLUMNS:
            raise UsageError(
                f"{where}: unknown key {reprlib.repr(key)} (known: {', '.join(_COLUMNS)})"
            )
        if type(value) is not int:
            raise UsageError(f"{where}: {key} must be a whole number, got {reprlib.repr(value)}")
    if missing := [key for key in "mnk" if key not in item]:
        raise UsageError(f"{where}: '{missing[0]}' is missing")
    return _size(item, where)


def _size(values: dict[str, int], where: str) -> Size:
    extents = tuple(values[column] for column in _EXTENT_COLUMNS if column in values)
    return _checked(extents, values.get("count", 1), where)


def _checked(extents: tuple[int, ...], count: int, where: str) -> Size:
    try:
        return Size(extents, count)
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from error


_READERS: dict[str, Callable[[str, Path], Iterator[Size]]] = {
    ".csv": _read_csv,
    ".yaml": _read_yaml,
    ".yml": _read_yaml,
}
