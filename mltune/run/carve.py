"""Reads measurements out of a damaged SQLite file, page by page, without SQLite.

SQLite gives up a whole table if one page of it is damaged. Here every page that looks like a leaf
of a table is read by itself (https://sqlite.org/fileformat2.html, sections 1.6 and 2.1), so that
only the rows of the damaged pages are lost. A row counts if its checksum is right. Checksums do
not cover a row's number. But numbers have no gaps: the other rows of its page and the page above
confirm it or tell the right one. If the page above contradicts all of a page, either the page lies
at a wrong place or its numbers are damaged; the rest of the file tells which.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mltune.errors import UsageError
from mltune.measurement.measurement import Measurement
from mltune.reading import read_bytes
from mltune.run.row import COLUMNS, LATER_COLUMNS, from_row

_NAMES = ("id", "run", *COLUMNS)
_FEWEST = len(_NAMES) - len(LATER_COLUMNS)
_BRANCH, _LEAF = 0x05, 0x0D
_LOG_HEADER, _FRAME_HEADER = 32, 24
_PAGE_SIZES = tuple(1 << n for n in range(9, 17))
_USUAL_PAGE_SIZE = 4096
_MOST_BYTES = 1 << 32
_SMALLEST_ROW = 256


@dataclass(frozen=True, slots=True)
class Carved:
    """The result of reading a damaged file.

    Attributes:
        measurements: by number.
        damaged: one line for each row that is there and cannot be read.
        missing: numbers up to the last confirmed one that are not there at all.
    """

    measurements: tuple[Measurement, ...]
    damaged: tuple[str, ...]
    missing: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of a page.

    Attributes:
        number: 0 if it is damaged and the right one is not known.
        is_sure: whether the number is confirmed.
        cells: by column, with the number as `id`, which may be damaged.
        written: the number in the page, if the page above alone tells another one; else 0.
    """

    number: int
    is_sure: bool
    cells: dict[str, Any]
    written: int = 0


def carve(path: Path) -> Carved:
    """Read all measurements that can be read in a database file and the log beside it.

    Raises:
        MltuneError: when the file itself cannot be opened.
    """
    log_path = path.with_name(path.name + "-wal")
    data = read_bytes(path, _MOST_BYTES)
    log = read_bytes(log_path, _MOST_BYTES) if log_path.exists() else b""
    size = _page_size(data)
    pages = [data[at : at + size] for at in range(0, len(data), size)]
    frame = _FRAME_HEADER + size
    logged = [
        (int.from_bytes(log[at : at + 4], "big"), log[at + _FRAME_HEADER : at + frame])
        for at in range(_LOG_HEADER, len(log) - frame + 1, frame)
    ]
    versions = [*enumerate(pages, start=1), *logged]
    around = {child: numbers for _, page in versions for child, numbers in _around(page)}
    rows = [row for at, page in versions for row in _rows(page, pages, around.get(at))]
    rows = [*_placed(rows)]
    # Tables of an older mltune have no checksums; in other tables a row without one is damaged.
    is_checked = any(row.cells["checksum"] for row in rows)
    found: dict[int, tuple[dict[str, Any], Measurement]] = {}
    damaged: dict[int, str] = {}
    nameless: dict[str, None] = {}
    for row in sorted(rows, key=lambda row: not row.is_sure):
        try:
            if is_checked and not row.cells["checksum"]:
                raise UsageError("its checksum is missing")
            measurement = from_row(row.cells)
        except UsageError as error:
            text = f"row {row.cells['id']}: {error}"
            if row.number:
                damaged[row.number] = text
            else:
                nameless[text] = None
            continue
        held = found.setdefault(row.number, (row.cells, measurement)) if row.number else None
        if not row.is_sure and (held is None or held[0] != row.cells):
            nameless[f"row {row.cells['id']}: its number is damaged"] = None
    last = max((row.number for row in rows if row.is_sure), default=0)
    return Carved(
        measurements=tuple(found[number][1] for number in sorted(found)),
        damaged=(*(damaged[number] for number in sorted(damaged.keys() - found)), *nameless),
        missing=tuple(n for n in range(1, last + 1) if n not in found and n not in damaged),
    )


def _page_size(data: bytes) -> int:
    """Read the page size from the header; if that is damaged, guess it."""
    size = int.from_bytes(data[16:18], "big")
    size = 1 << 16 if size == 1 else size
    return size if size in _PAGE_SIZES else _USUAL_PAGE_SIZE


def _around(page: bytes) -> Iterator[tuple[int, tuple[int, int | None]]]:
    """Read which pages hang on a page, each with the numbers before and after its rows."""
    if len(page) < 12 or page[0] != _BRANCH:
        return
    before = 0
    for at in _pointers(page, 12):
        try:
            last, _ = _varint(page, at + 4)
        except IndexError:
            continue
        yield int.from_bytes(page[at : at + 4], "big"), (before, last + 1)
        before = last
    yield int.from_bytes(page[8:12], "big"), (before, None)


def _rows(
    page: bytes, pages: list[bytes], around: tuple[int, int | None] | None
) -> Iterator[_Row]:
    """Read the rows of one page that have as many columns as a measurement.

    Args:
        page: with the rows.
        pages: all of the file.
        around: the numbers before and after its rows; None if no page above tells them.
    """
    if len(page) < 8 or page[0] != _LEAF:
        return
    read: dict[int, tuple[int, list[Any]]] = {}
    pointers = _pointers(page, 8)
    for place, at in enumerate(pointers):
        try:
            read[place] = _cell(page, at, pages)
        except (IndexError, struct.error, UnicodeDecodeError, ValueError):
            continue  # a wrong pointer; the row counts as missing
    before, after = around or (0, None)
    written = {-1: before, **{place: number for place, (number, _) in read.items()}}
    sure = _confirmed(written if after is None else {**written, len(pointers): after})
    is_contradicted = all(number != sure.get(place) for place, (number, _) in read.items())
    most = len(pages) * len(page) // _SMALLEST_ROW
    for place, (number, cells) in read.items():
        if _FEWEST <= len(cells) <= len(_NAMES):
            is_possible = around is None and not sure and number <= most
            right = sure.get(place, number if is_possible else 0)
            row = dict(zip(_NAMES, cells, strict=False))
            row = {**LATER_COLUMNS, **row, "id": right or number}
            written_there = number if place in sure and is_contradicted else 0
            yield _Row(right, place in sure, row, written_there)


def _placed(rows: list[_Row]) -> Iterator[_Row]:
    """Give rows of misplaced pages their own numbers, and leave out those of copies of a page."""
    own = {row.number: row for row in rows if row.is_sure and not row.written}
    last = max((row.number for row in rows if row.is_sure), default=0)
    for row in rows:
        itself = {**row.cells, "id": row.written}
        there = own.get(row.written)
        if there is None and 0 < row.written <= last:
            yield _Row(row.written, is_sure=True, cells=itself)
        elif there is None or there.cells != itself:
            yield row


def _confirmed(numbers: dict[int, int]) -> dict[int, int]:
    """Return the right numbers by place, where two rows agree, and between such two."""
    places: dict[int, list[int]] = defaultdict(list)
    for place, number in numbers.items():
        places[number - place].append(place)
    sure: dict[int, int] = {}
    for first, agreed in sorted(places.items(), key=lambda item: len(item[1])):
        if len(agreed) > 1:
            sure |= {place: first + place for place in range(min(agreed), max(agreed) + 1)}
    return sure


def _pointers(page: bytes, start: int) -> list[int]:
    """Read from a page where its cells begin; `start` is the length of its header."""
    end = min(start + 2 * int.from_bytes(page[3:5], "big"), len(page) - 1)
    return [int.from_bytes(page[at : at + 2], "big") for at in range(start, end, 2)]


def _cell(page: bytes, at: int, pages: list[bytes]) -> tuple[int, list[Any]]:
    """Read one row: its number and its values."""
    length, at = _varint(page, at)
    number, at = _varint(page, at)
    if not 0 <= number < 1 << 62 or length > sum(map(len, pages)):
        raise ValueError("no row")
    return number, _record(_payload(page, at, length, pages))


def _payload(page: bytes, at: int, length: int, pages: list[bytes]) -> bytes:
    """Collect a row's bytes, which may continue in other pages."""
    usable = len(page)
    most, least = usable - 35, (usable - 12) * 32 // 255 - 23
    if length <= most:
        return page[at : at + length]
    kept = least + (length - least) % (usable - 4)
    local = kept if kept <= most else least
    payload = page[at : at + local]
    following = int.from_bytes(page[at + local : at + local + 4], "big")
    for _ in pages:  # a damaged chain may be circular
        if following == 0 or len(payload) >= length:
            break
        overflow = pages[following - 1]
        payload += overflow[4 : 4 + length - len(payload)]
        following = int.from_bytes(overflow[:4], "big")
    return payload


def _record(payload: bytes) -> list[Any]:
    """Read a record: a header of types, then the values."""
    header, at = _varint(payload, 0)
    types = []
    while at < header:
        kind, at = _varint(payload, at)
        types.append(kind)
        if len(types) > len(_NAMES):
            raise ValueError("no measurement")
    return [*_values(payload, header, types)]


def _values(payload: bytes, at: int, types: list[int]) -> Iterator[Any]:
    whole = {0: 0, 1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
    for kind in types:
        if kind >= 12:
            size = (kind - 12) // 2
            raw = payload[at : at + size]
            if len(raw) < size:
                raise ValueError("cut short")
            yield raw.decode() if kind % 2 else raw
        elif kind == 7:
            size = 8
            yield struct.unpack(">d", payload[at : at + 8])[0]
        elif kind in whole:
            size = whole[kind]
            value = int.from_bytes(payload[at : at + size], "big", signed=True)
            yield None if kind == 0 else value
        elif kind in (8, 9):
            size = 0
            yield kind - 8
        else:
            raise ValueError("no type")
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Read a whole number of one to nine bytes; return it with the offset behind it."""
    value = 0
    for n in range(8):
        byte = data[at + n]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + n + 1
    return value << 8 | data[at + 8], at + 9
