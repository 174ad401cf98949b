"""Measurements as one gzipped CSV table: exact, and the same bytes every time."""

from __future__ import annotations

import csv
import gzip
import io
import re
from collections.abc import Iterable
from pathlib import Path

from mltune.errors import UsageError
from mltune.files import write_atomically
from mltune.measurement.measurement import Measurement
from mltune.reading import GZIP, read_bytes, unpack
from mltune.run.row import COLUMNS, LATER_COLUMNS, Cell, Kind, from_row, to_row

_KINDS = {"id": Kind.WHOLE, **COLUMNS}
_NUMBERS = {column: kind for column, kind in _KINDS.items() if kind is not Kind.TEXT}
_WHOLE = re.compile(r"-?[0-9]{1,19}")


def write_table(measurements: Iterable[Measurement], path: Path) -> None:
    """Write a table with a header and a row for each measurement.

    Raises:
        MltuneError: when the file cannot be written.
    """
    text = io.StringIO(newline="")
    # Texts are quoted, as a build log may have any line ends. Numbers are written so that they
    # read back as the same double.
    writer = csv.writer(text, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    writer.writerow(_KINDS)
    for measurement in measurements:
        row = {"id": measurement.id, **to_row(measurement)}
        writer.writerow(row[column] for column in _KINDS)
    # Without a time in the header, the same table gives the same bytes.
    write_atomically(path, gzip.compress(text.getvalue().encode("utf-8"), mtime=0))


def read_table(path: Path) -> list[Measurement]:
    """Read what `write_table` wrote.

    Raises:
        UsageError: when the file cannot be read, or is something else; it names the line.
    """
    packed = read_bytes(path)
    if not packed.startswith(GZIP):
        raise UsageError(f"{path}: is not gzipped")
    data, damage = unpack(path, packed)
    if damage:
        raise UsageError(f"{path}: is damaged or cut short ({damage})")
    measurements: dict[int, Measurement] = {}
    reader = None
    try:
        reader = csv.reader(io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline=""))
        columns = _read_header(next(reader, []))
        for cells in reader:
            measurement = from_row({**LATER_COLUMNS, **_row(columns, cells)})
            if measurement.id in measurements:
                raise UsageError(f"id {measurement.id} stands twice")
            measurements[measurement.id] = measurement
    except (UnicodeDecodeError, csv.Error, UsageError) as error:
        line = f"line {reader.line_num}: " if reader and reader.line_num else ""
        raise UsageError(f"{path}: {line}{error}") from error
    return list(measurements.values())


def _read_header(header: list[str]) -> list[str]:
    required = [column for column in _KINDS if column not in LATER_COLUMNS]
    if missing := [column for column in required if column not in header]:
        raise UsageError(f"column '{missing[0]}' is missing: no table of measurements")
    if header not in (list(_KINDS), required):
        raise UsageError(f"expected the columns {','.join(_KINDS)}")
    return header


def _row(columns: list[str], cells: list[str]) -> dict[str, Cell]:
    if len(cells) != len(columns):
        raise UsageError(f"expected {len(columns)} cells, got {len(cells)}")
    row: dict[str, Cell] = dict(zip(columns, cells, strict=True))
    for column, kind in _NUMBERS.items():
        if column in row:
            row[column] = _number(column, kind, str(row[column]))
    return row


def _number(column: str, kind: Kind, cell: str) -> Cell:
    if kind is Kind.WHOLE:
        if not _WHOLE.fullmatch(cell):
            raise UsageError(f"column '{column}' must be a whole number, got '{cell:.80}'")
        return int(cell)
    try:
        return float(cell) if cell else None
    except ValueError:
        raise UsageError(f"column '{column}' must be a number, got '{cell:.80}'") from None
