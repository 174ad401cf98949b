"""A run as one file to give to others: options, device, all rows, and a licence."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from mltune.errors import UsageError
from mltune.files import write_atomically
from mltune.measurement.measurement import Measurement
from mltune.run.csv import write_run
from mltune.run.fields import Fields
from mltune.run.row import COLUMNS, from_row, to_row
from mltune.run.run import INFO_NAME, Run
from mltune.run.run_info import RunInfo

FORMAT = "mltune bundle"
SCHEMA_VERSION = 1


def write_bundle(run: Run, licence: str, path: Path) -> None:
    """Write a run as one gzipped JSON file, the same bytes every time.

    Args:
        run: an open run.
        licence: under which the rows may be used, in its author's words.
        path: of the file.

    Raises:
        MltuneError: when it cannot be written.
    """
    columns = list(COLUMNS)
    rows = []
    for measurement in run.store.measurements():
        row = to_row(measurement)
        rows.append([measurement.id, *(row[column] for column in columns)])
    document = {
        "format": FORMAT,
        "schema": SCHEMA_VERSION,
        "licence": licence,
        "run": replace(run.info, storage="").to_json(),
        "columns": ["id", *columns],
        "rows": rows,
    }
    write_atomically(path, gzip.compress(json.dumps(document).encode(), mtime=0))


def read_bundle(data: Any) -> tuple[RunInfo, list[Measurement], str]:
    """Read what `write_bundle` wrote, from its JSON.

    Returns:
        The run's options, the rows, and the licence.

    Raises:
        UsageError: when it is something else, or damaged.
    """
    fields = Fields(data)
    if fields.text("format") != FORMAT:
        raise UsageError(f"is no {FORMAT}")
    if fields.whole("schema") > SCHEMA_VERSION:
        raise UsageError(
            f"its schema {fields.whole('schema')} is newer than {SCHEMA_VERSION}: update mltune"
        )
    columns = fields.texts("columns")
    if set(columns) != {"id", *COLUMNS}:
        raise UsageError("'columns' are not those of a measurement")
    measurements: dict[int, Measurement] = {}
    for place, row in enumerate(fields.items("rows"), start=1):
        if not isinstance(row, list) or len(row) != len(columns):
            raise UsageError(f"row {place}: expected a list of {len(columns)} cells")
        try:
            measurement = from_row(dict(zip(columns, row, strict=True)))
        except UsageError as error:
            raise UsageError(f"row {place}: {error}") from error
        if measurement.id in measurements:
            raise UsageError(f"row {place}: id {measurement.id} stands twice")
        measurements[measurement.id] = measurement
    info = RunInfo.from_json(fields.get("run"))
    return info, list(measurements.values()), fields.text("licence")


def unpack(info: RunInfo, measurements: list[Measurement], folder: Path) -> list[Path]:
    """Make a run folder, like the shipped ones, from what `read_bundle` returned.

    Raises:
        UsageError: when the folder holds a run already.
        MltuneError: when something cannot be written.
    """
    if (folder / INFO_NAME).exists():
        raise UsageError(f"{folder}: holds a run already; give another folder with -o")
    return write_run(info, measurements, folder)
