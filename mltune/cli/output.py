"""Tables as text, JSON for programs, and progress bars on stderr."""

from __future__ import annotations

import json
import logging
import string
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import chain, count, product
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

from mltune.cli.streams import printable
from mltune.cli.table import GAP, Column, table_blocks
from mltune.cli.terminal import columns, is_animated, say
from mltune.cli.wrapping import wrapped

if TYPE_CHECKING:
    from mltune.tuning.progress import Progress

Cell = str | int | float | None


def print_json(document: dict[str, Any]) -> None:
    """Print one JSON document on stdout."""
    print(json.dumps(document, indent=2, allow_nan=False))


class Result(Protocol):
    """The result of a verb, with the next commands."""

    @property
    def next_commands(self) -> tuple[str, ...]:
        """Return lines with the commands."""
        ...

    def to_json(self) -> dict[str, Any]:
        """Return the document that `--json` prints."""
        ...


R = TypeVar("R", bound=Result)


def conclude(result: R, show: Callable[[R], None], *, as_json: bool) -> None:
    """Print a result as one JSON document or by `show`; JSON output has no next commands."""
    if as_json:
        print_json(result.to_json())
    else:
        show(result)
    for line in result.next_commands:
        print(line, file=sys.stderr if as_json else sys.stdout)


def table_width(header: Sequence[str], rows: Sequence[Sequence[Cell]]) -> int:
    """Return the columns of the terminal for `print_table`."""
    return sum(len(GAP) + column.width for column in _columns(header, rows)) - len(GAP)


def short_number(value: float | None) -> Short | None:
    """Return a number that a table shows with three digits."""
    return None if value is None else Short(value)


class Short(float):
    """A number that a table shows with three digits."""


def print_table(header: Sequence[str], rows: Sequence[Sequence[Cell]]) -> None:
    """Print a table on stdout: text on the left, numbers on the right.

    On a terminal it is at most as wide as that: text is wrapped, and further columns come below.
    """
    for number, block in enumerate(table_blocks(_columns(header, rows), columns())):
        if number:
            print()
        for at, line in enumerate(block):
            say(*(part for cell in line for part in ((cell, _style(cell, at)), (GAP, ""))))


def _columns(header: Sequence[str], rows: Sequence[Sequence[Cell]]) -> list[Column]:
    return [
        Column(
            name,
            tuple(_cell(row[at]) for row in rows),
            bool(rows) and all(not isinstance(row[at], str) for row in rows),
        )
        for at, name in enumerate(header)
    ]


def _style(cell: str, line: int) -> str:
    """Return the style of a heading, a status, or other text."""
    return "heading" if line == 0 else _status_styles().get(cell.strip(), "")


@cache
def _status_styles() -> dict[str, str]:
    from mltune.measurement import Status  # not for --help, which loads nothing

    return {one.value: "good" if one is Status.OK else "bad" for one in Status}


def _cell(cell: Cell) -> str:
    if cell is None:
        return "-"
    if isinstance(cell, Short):
        return f"{cell:,.0f}" if cell >= 99.95 else f"{cell:#.3g}"
    return number_text(cell) if isinstance(cell, float) else str(cell)


def number_text(value: float) -> str:
    """Write a number with four digits, without an exponent unless it is tiny."""
    size = abs(value)
    if size >= 999.95:
        return f"{value:,.0f}"
    return f"{value:#.4g}" if size >= 1e-4 or value == 0 else f"{value:.2e}"


def short_names(names: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Split long kernel names into parts that differ and parts that all share.

    Returns:
        For each name, its macro tile and the parts that not all names have; and the parts that all
        have. Names without a differing part keep all their parts.
    """
    split = [name.split("_") for name in names]
    shared = [
        part
        for part in (split[0] if split else [])
        if not part.startswith("MT") and all(part in parts for parts in split)
    ]
    own = [[part for part in parts if part not in shared] for parts in split]
    if not all(own):
        return tuple(" ".join(parts) for parts in split), ()
    return tuple(" ".join(parts) for parts in own), tuple(shared)


def kernel_letters(kernels: Iterable[str]) -> dict[str, str]:
    """Return letters for each kernel of a table, in their order: a to z, then aa, ab, ..."""
    groups = (product(string.ascii_lowercase, repeat=length) for length in count(1))
    letters = map("".join, chain.from_iterable(groups))
    return dict(zip(dict.fromkeys(kernels), letters, strict=False))


def print_kernels(letters: Mapping[str, str]) -> None:
    """Print which kernel has which letter."""
    names, shared = short_names(list(letters))
    for letter, name in zip(letters.values(), names, strict=True):
        print(f"{letter}: {name}")
    if shared:
        print(f"every kernel: {' '.join(shared)}")


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


def duration_text(seconds: float) -> str:
    """Write a duration in at most two units."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
