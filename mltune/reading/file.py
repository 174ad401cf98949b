"""Reads the bytes or the text of a regular file that is not too large."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from mltune.errors import UsageError
from mltune.files import file_error

MOST_BYTES = 256 * 2**20
"""Of a file, and of its unpacked content: several times the largest data set that ships."""

_KINDS = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)

_FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def read_bytes(path: Path, most: int = MOST_BYTES) -> bytes:
    """Read a file.

    Args:
        path: of a regular file, or of a link to one.
        most: the largest number of bytes.

    Raises:
        UsageError: when it cannot be read, is no regular file, or is larger.
    """
    try:
        # Without O_NONBLOCK, opening a pipe waits for its writer.
        number = os.open(path, os.O_RDONLY | _FLAGS)
        with os.fdopen(number, "rb") as file:
            state = os.fstat(number)
            _check_regular(path, state.st_mode)
            data = file.read() if state.st_size <= most else b""
    except OSError as error:
        check_regular(path)  # a socket cannot be opened
        raise file_error(path, "read", error) from error
    except ValueError as error:  # a path that no system can have
        raise UsageError(f"{path}: cannot read (no file can have this name)") from error
    if max(len(data), state.st_size) > most:
        raise UsageError(f"{path}: is larger than {size_text(most)}")
    return data


def read_text(path: Path, most: int = MOST_BYTES) -> str:
    """Read a file of UTF-8 text; see `read_bytes`.

    Raises:
        UsageError: also when it is no such text.
    """
    return decode(path, read_bytes(path, most))


def decode(path: Path, data: bytes) -> str:
    """Return a file's bytes as text, without the byte order mark that editors on Windows write.

    Raises:
        UsageError: when they are no text.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: is no UTF-8 text ({error.reason}, byte {error.start})") from (
            error
        )


def check_regular(path: Path) -> None:
    """Refuse what is no regular file before it is opened, which might never return.

    Raises:
        UsageError: when it is something else; a folder, or nothing, passes.
    """
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return  # the error follows when it is opened
    if not stat.S_ISDIR(mode):
        _check_regular(path, mode)


def _check_regular(path: Path, mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    for is_kind, kind in _KINDS:
        if is_kind(mode):
            raise UsageError(f"{path}: is {kind}, not a file")


def size_text(count: int) -> str:
    """Return a number of bytes as text."""
    return f"{count >> 20} MiB" if count >= 2**20 else f"{count} bytes"
