"""A progress bar on stderr, and log lines above it."""

from __future__ import annotations

import logging
import sys
import time
from typing import TYPE_CHECKING, Any, ClassVar

from mltune.cli.output import duration_text, number_text
from mltune.cli.streams import printable
from mltune.cli.terminal import is_animated
from mltune.cli.wrapping import wrapped

if TYPE_CHECKING:
    from mltune.tuning.progress import Progress

_BAR_WIDTH = 16
_BAR_COLUMNS = 60
"""The length of the line, short enough that it never wraps, also in terminals that get narrower.
"""


class ProgressBar:
    """Shows the progress of long work on stderr: a bar on a terminal, else a line now and then.

    The bar appears with the first progress and disappears at the end, so work that fails at once
    shows none.
    """

    _PLAIN_SECONDS = 10.0
    shown: ClassVar[ProgressBar | None] = None
    """The bar that is on the terminal now."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._bar: Any = None
        self._task: Any = None
        self._last_line = time.monotonic()
        self._last_end = ""

    def __enter__(self) -> ProgressBar:
        if not self._quiet and is_animated(sys.stderr):
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn
            from rich.progress import Progress as RichProgress
            from rich.table import Column as RichColumn

            self._bar = RichProgress(
                TextColumn("{task.description}", table_column=RichColumn(no_wrap=True)),
                BarColumn(bar_width=_BAR_WIDTH),
                TextColumn(
                    "{task.fields[state]}", markup=False, table_column=RichColumn(no_wrap=True)
                ),
                console=Console(file=getattr(sys.stderr, "stream", sys.stderr)),  # it is animated
                transient=True,
            )
            self._task = self._bar.add_task("", total=1, state="")
        return self

    def __exit__(self, *_: object) -> None:
        if ProgressBar.shown is self:
            ProgressBar.shown = None
            self._bar.stop()

    def note(self, line: str) -> None:
        """Print a line above the bar."""
        if self._quiet:
            return
        if self._bar is not None:
            for part in wrapped(printable(line), self._bar.console.width):
                self._bar.console.print(part, highlight=False, markup=False, soft_wrap=True)
        else:
            print(line, file=sys.stderr, flush=True)

    def show(self, progress: Progress) -> None:
        """Show the state of the work."""
        if self._quiet:
            return
        of = f"/{progress.total}" if progress.total else ""
        where = f"{progress.phase} {progress.done}{of}"
        if self._bar is not None:
            # Not by `update`, to which None is no change: a bar without a total moves to and fro.
            self._bar.tasks[self._task].total = progress.total or None
            self._bar.update(
                self._task,
                description=where,
                completed=progress.done,
                state=state_text(progress, _BAR_COLUMNS - len(where) - _BAR_WIDTH - 2),
            )
            if ProgressBar.shown is not self:
                ProgressBar.shown = self
                self._bar.start()
            return
        now = time.monotonic()
        is_end = progress.done == progress.total > 0
        if is_end and where == self._last_end:  # a resumed search begins where it ended
            return
        if now - self._last_line >= self._PLAIN_SECONDS or is_end:
            self._last_line, self._last_end = now, where if is_end else ""
            print(f"{where}  {state_text(progress)}".rstrip(), file=sys.stderr, flush=True)


class LogFormat(logging.Formatter):
    """Warnings read like the messages of `mltune`; other lines begin with who says them."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line, and a traceback if there is one."""
        is_warning = record.levelno >= logging.WARNING
        head = f"mltune: {record.levelname.lower()}" if is_warning else record.name
        return f"{head}: {super().format(record)}"


class LogLines(logging.Handler):
    """Writes log lines to stderr, above the bar if there is one."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line."""
        if ProgressBar.shown is not None:
            ProgressBar.shown.note(self.format(record))
        else:
            print(self.format(record), file=sys.stderr, flush=True)


def state_text(progress: Progress, room: int | None = None) -> str:
    """Describe the state of a search, the most important parts first; the last ones may be cut.

    Args:
        progress: the state.
        room: the number of characters; None for any number.
    """
    parts = []
    if progress.best_gflops is not None:
        parts.append(f"best {number_text(progress.best_gflops)} GFLOP/s")
    if progress.seconds_left is not None:
        parts.append(f"{duration_text(progress.seconds_left)} left")
    if progress.per_minute is not None:
        parts.append(f"{progress.per_minute:.0f}/min")
    if progress.failures:
        counts = ", ".join(f"{count} {status}" for status, count in progress.failures)
        parts.append(f"failed: {counts}")
    while room is not None and len(parts) > 1 and len(" | ".join(parts)) > room:
        parts.pop()
    return " | ".join(parts)
