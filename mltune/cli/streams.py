"""Output streams that print foreign text safely."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import sys
from collections.abc import Iterator
from typing import TextIO

from mltune.cli.wrapping import wrapped


class PlainStream(io.TextIOBase):
    """Writes to another stream; characters that cannot be printed are escaped.

    A device's name may contain codes that move a terminal's cursor or set its title, and a path
    may contain bytes that are no text.
    """

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.breaks_lines = False

    def write(self, text: str) -> int:
        """Write a text; only its line ends and tabs stay as they are.

        On a terminal, whole lines are broken between words if `breaks_lines` is set.
        """
        encoding = self.stream.encoding or "utf-8"
        shown = printable(text)
        if self.breaks_lines and self.isatty():
            room = width_of(self.stream)
            shown = "\n".join("\n".join(wrapped(line, room)) for line in shown.split("\n"))
        self.stream.write(shown.encode(encoding, "backslashreplace").decode(encoding))
        return len(text)

    def flush(self) -> None:
        """Flush the other stream."""
        self.stream.flush()

    def isatty(self) -> bool:
        """Whether the other stream is a terminal."""
        return self.stream.isatty()

    def fileno(self) -> int:
        """The other stream's number."""
        return self.stream.fileno()

    def writable(self) -> bool:
        """True."""
        return True


def width_of(terminal: TextIO) -> int:
    """Return the columns of the process's terminal, even if other streams are redirected."""
    columns = 0  # unknown, as a terminal without a window says, too
    with contextlib.suppress(OSError, ValueError):  # the process has no terminal
        if not os.environ.get("COLUMNS"):
            columns = os.get_terminal_size(terminal.fileno()).columns
    return columns or shutil.get_terminal_size().columns


def printable(text: str) -> str:
    """Escape what cannot be printed in a text, except line ends and tabs."""
    if text.isprintable():
        return text
    return "".join(
        letter
        if letter.isprintable() or letter in "\n\t"
        else letter.encode("unicode_escape").decode()
        for letter in text
    )


def break_lines() -> None:
    """Break lines that are longer than the terminal is wide, from now on."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, PlainStream):
            stream.breaks_lines = True


def open_closed() -> None:
    """Open closed standard streams as the null device, before a file gets their numbers."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the lowest free number
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "w" if number else "r", closefd=False))


@contextlib.contextmanager
def plain_output() -> Iterator[None]:
    """Print everything through plain streams, also what libraries print."""
    with (
        contextlib.redirect_stdout(PlainStream(sys.stdout)),
        contextlib.redirect_stderr(PlainStream(sys.stderr)),
    ):
        yield
