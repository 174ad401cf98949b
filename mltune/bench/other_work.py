"""The share of the processor that other programs take during a measurement."""

from __future__ import annotations

import os
from pathlib import Path

from mltune.machine import usable_cores

_COUNTED = 8  # user, nice, system, idle, iowait, irq, softirq, steal; guests are in user
_IDLE = slice(3, 5)


class OtherWork:
    """Measures from its creation on, for the cores that this process may use."""

    def __init__(self, root: Path = Path("/")) -> None:
        """Start.

        Args:
            root: of the system's files.
        """
        self._file = root / "proc" / "stat"
        self._names = {f"cpu{core}" for core in usable_cores()}
        self._begin = self._now()

    def share(self) -> float | None:
        """Return the share of these cores' time since the start; None if it is unknown."""
        began, now = self._begin, self._now()
        if began is None or now is None or now[0] <= began[0]:
            return None
        total, busy, own = (after - before for before, after in zip(began, now, strict=True))
        return min(max((busy - own) / total, 0.0), 1.0)

    def _now(self) -> tuple[float, float, float] | None:
        """Return the seconds of all cores, their busy seconds, and those of this process."""
        try:
            lines = [line.split() for line in self._file.read_text("ascii").splitlines()]
            rows = [
                [int(ticks) for ticks in words[1 : 1 + _COUNTED]]
                for words in lines
                if words and words[0] in self._names
            ]
        except (OSError, ValueError):
            return None
        ticks_per_second = os.sysconf("SC_CLK_TCK")
        total = sum(map(sum, rows)) / ticks_per_second
        idle = sum(sum(row[_IDLE]) for row in rows) / ticks_per_second
        return total, total - idle, sum(os.times()[:4])
