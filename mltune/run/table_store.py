"""The measurements of a shipped table."""

from __future__ import annotations

from pathlib import Path

from mltune.errors import UsageError
from mltune.measurement.measurement import Measurement, Phase
from mltune.run.csv_table import read_table


class TableStore:
    """The measurements of a table; they are read once, and none can be added.

    Raises:
        UsageError: when the table cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._where = str(path)
        self._all = sorted(read_table(path), key=lambda each: each.id)

    def measurements(self, phase: Phase | None = None) -> list[Measurement]:
        """Return all measurements, or those of one phase, in the order of their ids."""
        return [each for each in self._all if phase in (None, each.phase)]

    def salvage(self) -> tuple[list[Measurement], list[str]]:
        """Return all measurements, as a damaged table cannot be read at all."""
        return self.measurements(), []

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

    def count(self) -> int:
        """Return the number of measurements."""
        return len(self._all)

    def close(self) -> None:
        """Do nothing, as nothing is open."""
