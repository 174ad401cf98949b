"""Output that shows what foreign text is made of, and never obeys it."""

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
    """Writes to another stream; all that cannot be printed is written as its escape.

    A device's name may hold what moves a terminal's cursor or sets its title, and a path may hold
    bytes that are no text.
    """

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.breaks_lines = False

    def write(self, text: str) -> int:
        """Write a text; only its line ends and tabs are obeyed.

        On a terminal whole lines are broken between words, if `breaks_lines` is set.
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
        """It is."""
        return True


def width_of(terminal: TextIO) -> int:
    """How many columns a terminal has, whatever the other streams lead to."""
    with contextlib.suppress(OSError, ValueError):  # no terminal of its own
        if not os.environ.get("COLUMNS"):
            return os.get_terminal_size(terminal.fileno()).columns
    return shutil.get_terminal_size().columns


def printable(text: str) -> str:
    """A text in which what cannot be printed stands as its escape, but for line ends and tabs."""
    if text.isprintable():
        return text
    return "".join(
        letter
        if letter.isprintable() or letter in "\n\t"
        else letter.encode("unicode_escape").decode()
        for letter in text
    )


def break_lines() -> None:
    """From now on break lines for people that are longer than the terminal is wide."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, PlainStream):
            stream.breaks_lines = True


@contextlib.contextmanager
def plain_output() -> Iterator[None]:
    """Have everything printed through plain streams, by whatever library."""
    with contextlib.ExitStack() as stack:
        if sys.stdout is not None:
            stack.enter_context(contextlib.redirect_stdout(PlainStream(sys.stdout)))
        if sys.stderr is not None:
            stack.enter_context(contextlib.redirect_stderr(PlainStream(sys.stderr)))
        yield
