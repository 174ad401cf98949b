"""The measurements of a shipped table, with the methods of a database's store."""

from __future__ import annotations

from pathlib import Path

from mltune.errors import UsageError
from mltune.measurement.measurement import Measurement
from mltune.run.csv_table import read_table
from mltune.run.store import Store


class TableStore(Store):
    """The measurements of a table; they are read once, and none can be added.

    Raises:
        UsageError: when the table cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._where = str(path)
        self._read_only = True
        self._all = sorted(read_table(path), key=lambda each: each.id)

    def measurements(self, phase: str | None = None) -> list[Measurement]:
        """Return all measurements, or those of one phase, in the order of their ids."""
        return [each for each in self._all if phase in (None, each.phase)]

    def salvage(self, phase: str | None = None) -> tuple[list[Measurement], list[str]]:
        """Return all measurements, as a damaged table cannot be read at all."""
        return self.measurements(phase), []

    def trial(self, number: int) -> list[Measurement]:
        """Return what the search measured of one trial, in the order it was added."""
        return [each for each in self.measurements("search") if each.trial == number]

    def get(self, number: int) -> Measurement:
        """Return the measurement with an id.

        Raises:
            UsageError: when there is none.
        """
        found = next((each for each in self._all if each.id == number), None)
        if found is None:
            known = (
                f"it has {self._all[0].id} to {self._all[-1].id}" if self._all else "it has none"
            )
            raise UsageError(f"{self._where}: no measurement {number} ({known})")
        return found

    def count(self, phase: str | None = None) -> int:
        """Return the number of measurements, of all phases or of one."""
        return len(self.measurements(phase))

    def close(self) -> None:
        """Do nothing, as nothing is open."""
