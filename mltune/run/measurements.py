"""The measurements of a run as they are read, from a database or from a table."""

from __future__ import annotations

from typing import Protocol

from mltune.measurement.measurement import Measurement, Phase


class Measurements(Protocol):
    """The measurements of a run, to be read."""

    def measurements(self, phase: Phase | None = None) -> list[Measurement]:
        """Return all measurements, or those of one phase, in the order they were added.

        Raises:
            UsageError: when one cannot be read; `salvage` returns the others.
        """
        ...

    def salvage(self) -> tuple[list[Measurement], list[str]]:
        """Return the measurements that can be read, and one line for each that cannot."""
        ...

    def get(self, number: int) -> Measurement:
        """Return the measurement with an id.

        Raises:
            UsageError: when there is none, or it cannot be read.
        """
        ...

    def count(self) -> int:
        """Return the number of measurements."""
        ...

    def close(self) -> None:
        """Close what is open; a second time does nothing."""
        ...
