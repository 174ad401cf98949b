"""Descriptions from GEMMbench's JSON files, and from the text that a run keeps of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from mltune.errors import UsageError
from mltune.kernel.handwritten.description import (
    GEMMBENCH_ARGUMENTS,
    Description,
    unique,
)
from mltune.kernel.handwritten.header import find_header
from mltune.problem import Precision
from mltune.reading import read_text
from mltune.space.json_document import parse_json_document
from mltune.space.yaml_document import Item
from mltune.unknown import unknown

_REQUIRED = ("name", "type", "transA", "transB")
_OPTIONAL = (
    "file",
    "source",
    "dj",
    "di",
    "order",
    "function",
    "arguments",
    "multiples",
    "local_sizes",
    "build_options",
)


def read_files(paths: Sequence[Path]) -> tuple[Description, ...]:
    """Read descriptions with the sources that stand beside them.

    Args:
        paths: JSON files, and folders of them.

    Raises:
        UsageError: when one cannot be read, or with the first mistake in it and its line.
    """
    found: list[Description] = []
    for path in paths:
        files = sorted(path.glob("*.json")) if path.is_dir() else [path]
        if not files:
            raise UsageError(f"{path}: holds no JSON file")
        for file in files:
            found.append(_read(parse_json_document(read_text(file), str(file)), file.parent))
    unique(tuple(found))
    return tuple(found)


def read_kept(text: str, where: str) -> tuple[Description, ...]:
    """Read what `to_text` wrote.

    Raises:
        UsageError: when it is no such text.
    """
    items = parse_json_document(text, where).sequence("kernels")
    return tuple(unique(tuple(_read(item, None) for item in items)).values())


def to_text(descriptions: Iterable[Description]) -> str:
    """Write descriptions and sources as one text, for a run to keep."""
    return json.dumps([description.to_json() for description in descriptions])


def _read(item: Item, folder: Path | None) -> Description:
    fields = item.mapping("a kernel's description")
    for key, field in fields.items():
        if key not in _REQUIRED + _OPTIONAL:
            raise UsageError(f"{field.where}: {unknown('key', key, _REQUIRED + _OPTIONAL)}")
    for key in _REQUIRED:
        if key not in fields:
            raise UsageError(f"{item.where}: lacks the key '{key}'")
    source = _source(item, fields, folder)
    try:
        return Description(
            name=fields["name"].text("'name'"),
            source=source,
            function=find_header(source, _text(fields, "function", "")).function,
            precision=Precision.parse(fields["type"].text("'type'").lower()),
            transposes=(fields["transA"].text("'transA'"), fields["transB"].text("'transB'")),
            order=_text(fields, "order", "row"),
            rows=_whole(fields["di"]) if "di" in fields else 1,
            columns=_whole(fields["dj"]) if "dj" in fields else 1,
            arguments=_texts(fields, "arguments") or GEMMBENCH_ARGUMENTS,
            multiples=_multiples(fields),
            local_sizes=_local_sizes(fields),
            build_options=_texts(fields, "build_options"),
        )
    except UsageError as error:
        message = str(error)
        here = item.where.rpartition(":")[0]
        raise type(error)(
            message if message.startswith(here) else f"{item.where}: {message}"
        ) from error


def _source(item: Item, fields: Mapping[str, Item], folder: Path | None) -> str:
    if "source" in fields:
        return fields["source"].text("'source'")
    if "file" not in fields or folder is None:
        raise UsageError(f"{item.where}: lacks the key 'file'")
    file = Path(fields["file"].text("'file'"))
    if file.is_absolute() or ".." in file.parts:
        raise UsageError(
            f"{fields['file'].where}: 'file' must lie beside its description, got '{file}'"
        )
    return read_text(folder / file)


def _text(fields: Mapping[str, Item], key: str, default: str) -> str:
    return fields[key].text(f"'{key}'") if key in fields else default


def _texts(fields: Mapping[str, Item], key: str) -> tuple[str, ...]:
    if key not in fields:
        return ()
    return tuple(each.text(f"'{key}'") for each in fields[key].sequence(f"'{key}'"))


def _multiples(fields: Mapping[str, Item]) -> tuple[int, int, int]:
    if "multiples" not in fields:
        return (0, 0, 0)
    given = fields["multiples"].mapping("'multiples'")
    for side in given:
        if side not in set("MNK"):
            raise UsageError(f"{fields['multiples'].where}: {unknown('extent', side, 'MNK')}")
    m, n, k = (_whole(given[side]) if side in given else 0 for side in "MNK")
    return (m, n, k)


def _local_sizes(fields: Mapping[str, Item]) -> tuple[tuple[int, int], ...]:
    if "local_sizes" not in fields:
        return ()
    pairs = []
    for item in fields["local_sizes"].sequence("'local_sizes'"):
        sides = tuple(_whole(side) for side in item.sequence("a local size"))
        if len(sides) != 2 or min(sides) < 1:
            raise UsageError(f"{item.where}: a local size must be two numbers from 1 on")
        pairs.append((sides[0], sides[1]))
    return tuple(pairs)


def _whole(item: Item) -> int:
    value = item.scalar("a number")
    if not isinstance(value, int):
        raise UsageError(f"{item.where}: must be a whole number, got {value!r}")
    return value
