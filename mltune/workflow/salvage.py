"""`mltune salvage`: saves the readable part of a damaged run as a run of its own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mltune.errors import MltuneError, UsageError
from mltune.files import make_folder
from mltune.run.carve import carve
from mltune.run.csv_table import write_table
from mltune.run.database import DATABASE_NAME
from mltune.run.run import INFO_NAME, TABLE_NAME, read_info, write_info


@dataclass(frozen=True, slots=True, kw_only=True)
class Salvage:
    """What was saved of a run.

    Attributes:
        lost: one line for each row that is known to be lost.
        info_error: why `run.json` could not be saved; empty if it was.
    """

    folder: Path
    measurements: int
    lost: tuple[str, ...]
    info_error: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the document that `--json` prints."""
        return {
            "folder": str(self.folder),
            "measurements": self.measurements,
            "lost": list(self.lost),
            "info_error": self.info_error,
        }


def salvage(run: Path, out: Path) -> Salvage:
    """Copy the readable part of a run into another folder; the run itself is not touched.

    Args:
        run: the damaged run's folder.
        out: the folder for the measurements as a table, with `run.json`; must hold no run.

    Raises:
        UsageError: when a folder is wrong.
        MltuneError: when nothing at all can be read.
    """
    database = run / DATABASE_NAME
    if not database.is_file():
        raise UsageError(f"{run}: has no {DATABASE_NAME} to salvage")
    if (out / INFO_NAME).exists() or (out / TABLE_NAME).exists() or out.resolve() == run.resolve():
        raise UsageError(f"{out}: holds a run already; give another folder")
    carved = carve(database)
    if not carved.measurements:
        raise MltuneError(f"{database}: holds no measurement that can be read")
    make_folder(out)
    write_table(carved.measurements, out / TABLE_NAME)
    info_error = ""
    try:
        write_info(read_info(run), out / INFO_NAME)
    except UsageError as error:
        info_error = str(error)
    missing = tuple(f"row {number}: is missing" for number in carved.missing)
    return Salvage(
        folder=out,
        measurements=len(carved.measurements),
        lost=(*carved.damaged, *missing),
        info_error=info_error,
    )
