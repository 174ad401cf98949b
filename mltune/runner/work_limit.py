"""Time limits for the work of a process, independent of other processes.

A build that takes 10 s alone takes a minute beside five others. A build that hangs does not work
at all, though, so there is also a limit of wall time, far above.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

PATIENCE = 10
"""The limit of wall time / the limit of processor time."""

_LOOK_SECONDS = 0.1  # between two reads of the processor time


class WallLimit:
    """A limit of wall time from now on."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """Return how long to wait at most.

        Raises:
            TimeoutError: when no time is left; the message has the number of seconds.
        """
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError(f"{self._seconds:g} s")
        return left


class WorkLimit:
    """A limit of a process's processor time; of wall time if the system has no such time.

    It never ends before as much wall time, as a process may work in several threads.
    """

    def __init__(self, pid: int, seconds: float) -> None:
        self._pid = pid
        self._seconds = seconds
        self._begin = time.monotonic()
        self._worked_before: float | None = None
        self._looked = False

    def left(self) -> float:
        """Return how long to wait until the next read.

        Raises:
            TimeoutError: when no time is left; the message has the seconds and their kind.
        """
        passed = time.monotonic() - self._begin
        if not self._looked and passed >= min(_LOOK_SECONDS, self._seconds):
            # Not at once: most answers come before, and a tenth of a second is no great error.
            self._worked_before, self._looked = processor_seconds(self._pid), True
        if passed < self._seconds:
            return min(self._seconds - passed, self._seconds if self._looked else _LOOK_SECONDS)
        worked = None if self._worked_before is None else processor_seconds(self._pid)
        if worked is None or self._worked_before is None:
            raise TimeoutError(f"{self._seconds:g} s")
        if worked - self._worked_before + _LOOK_SECONDS >= self._seconds:
            raise TimeoutError(f"{self._seconds:g} s of processor time")
        if passed >= PATIENCE * self._seconds:
            raise TimeoutError(f"{PATIENCE * self._seconds:g} s")
        return _LOOK_SECONDS


def processor_seconds(pid: int) -> float | None:
    """Return the processor time of a process and its children; None if it is unknown."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:  # it has just ended
        return None
    ticks = sum(map(int, words[11:15]))  # its own, and that of its children that have ended
    children = [int(child) for task in tasks for child in _children(task)]
    return ticks / os.sysconf("SC_CLK_TCK") + sum(
        processor_seconds(each) or 0 for each in children
    )


def _children(task: Path) -> list[str]:
    try:
        return (task / "children").read_text().split()
    except OSError:  # a thread that has just ended, or a system without this file
        return []
