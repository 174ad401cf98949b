"""A run as the files that ship: `run.json` and `measurements.csv.gz`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from mltune.errors import UsageError
from mltune.files import make_folder
from mltune.measurement.measurement import Measurement
from mltune.run.csv_table import write_table
from mltune.run.run import INFO_NAME, TABLE_NAME, Run, read_info, write_info
from mltune.run.run_info import RunInfo


def export_csv(run: Run, folder: Path) -> list[Path]:
    """Write a run's measurements and its `run.json`, which together are read as a run again.

    Args:
        run: an open run.
        folder: made if it does not exist; may be the run's own.

    Returns:
        The two files.

    Raises:
        UsageError: when the folder holds another run.
        MltuneError: when something cannot be written.
    """
    if (folder / INFO_NAME).exists() and read_info(folder).id != run.info.id:
        raise UsageError(f"{folder}: holds another run; give another folder")
    return write_run(run.info, run.store.measurements(), folder)


def write_run(info: RunInfo, measurements: Iterable[Measurement], folder: Path) -> list[Path]:
    """Write a table of measurements, and `run.json` unless it is there; return the two files.

    Raises:
        MltuneError: when something cannot be written.
    """
    make_folder(folder)
    info_path, table_path = folder / INFO_NAME, folder / TABLE_NAME
    write_table(measurements, table_path)
    if not info_path.exists():
        write_info(replace(info, storage=""), info_path)
    return [table_path, info_path]


def read_measurements(folder: Path, storage: str = "") -> list[Measurement]:
    """Read all measurements of a run folder, from its database or its CSV table.

    Raises:
        UsageError: when it is no run folder, or cannot be read.
    """
    with Run.open(folder, storage) as run:
        return run.store.measurements()
