"""Files: written as a whole, so that readers see the old or the new content; and locks."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path

from mltune.errors import MltuneError, UsageError

with contextlib.suppress(ImportError):
    import fcntl
with contextlib.suppress(ImportError):
    import msvcrt

_FAR = 1 << 30  # Windows makes locked bytes unreadable, so a byte that nobody reads is locked
_POLL_SECONDS = 0.05
_ASKED_FOR = frozenset(
    {
        errno.EACCES,
        errno.EISDIR,
        errno.ELOOP,
        errno.ENAMETOOLONG,
        errno.ENOENT,
        errno.ENOTDIR,
        errno.ENXIO,  # of a socket
        errno.EPERM,
        errno.EROFS,
    }
)
"""Errors that a better path or option would avoid, unlike a full disk."""


def file_error(path: Path, doing: str, error: OSError) -> MltuneError:
    """Return the one-line error of a file that could not be read or written."""
    kind = UsageError if error.errno in _ASKED_FOR else MltuneError
    return kind(f"{path}: cannot {doing} ({error.strerror or error})")


def write_atomically(path: Path, data: bytes, *, flush: bool = True) -> None:
    """Write a file through a temporary one beside it; it is on the disk when this returns.

    A device or a pipe, such as /dev/stdout, is written to, and never replaced. Of a symbolic link
    the file that it names is replaced.

    Args:
        path: of the file.
        data: the content.
        flush: whether to wait for the disk; else a power failure may undo the change.

    Raises:
        MltuneError: when it cannot be written; the old content is unchanged then.
    """
    try:
        if _is_device(path):
            path.write_bytes(data)
            return
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        path = path.resolve() if path.is_symlink() else path
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
        try:
            with temporary.open("wb") as file:
                file.write(data)
                if flush:
                    file.flush()
                    os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
        if os.name == "nt" or not flush:  # Windows cannot open folders
            return
        # The new name is on the disk only after the folder is.
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise file_error(path, "write", error) from error


def refuse_without_folder(path: Path, where: str) -> None:
    """Refuse a file whose folder does not exist, before the work for it begins.

    Args:
        path: of the file.
        where: names it in the message.

    Raises:
        UsageError: when there is no such folder.
    """
    if not path.parent.is_dir():
        raise UsageError(f"{where}: there is no folder {path.parent}")


def refuse_unwritable(path: Path, where: str = "") -> None:
    """Refuse a file that `write_atomically` could not write, before the work for it begins.

    Args:
        path: of the file.
        where: names it in the message about its folder (default: the path).

    Raises:
        UsageError: when there is no such folder, or that is not writable, or it is a folder.
    """
    refuse_without_folder(path, where or str(path))
    if path.is_dir():
        raise file_error(path, "write", OSError(errno.EISDIR, os.strerror(errno.EISDIR)))
    place = path if _is_device(path) else path.resolve().parent
    effective = os.access in os.supports_effective_ids
    if not os.access(place, os.W_OK, effective_ids=effective):
        raise file_error(path, "write", OSError(errno.EACCES, os.strerror(errno.EACCES)))


def _is_device(path: Path) -> bool:
    """Whether this is a device, a pipe or a socket, perhaps by a link."""
    return path.exists() and not (path.is_file() or path.is_dir())


def make_folder(folder: Path) -> None:
    """Make a folder and its parents, if they do not exist.

    Raises:
        MltuneError: when it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise UsageError(f"{folder}: is a file, not a folder") from None
    except OSError as error:
        raise file_error(folder, "make this folder", error) from error


def is_writable(folder: Path) -> bool:
    """Whether files can be made in a folder, which is made if it can be."""
    try:
        make_folder(folder)
    except MltuneError:
        return False
    return os.access(folder, os.W_OK)


def cache_folder(*parts: str, variable: str = "") -> Path | None:
    """Return a folder below the user's cache; None without a home folder.

    Args:
        parts: of its path.
        variable: names another folder instead; if it is set but empty, there is none.
    """
    named = os.environ.get(variable)
    if named is not None:
        return Path(named) if named else None
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", *parts)
    except RuntimeError:
        return None


def lock(file: int) -> None:
    """Lock an open file; a system without both ways to lock has no locks.

    The system releases the lock however the process ends.

    Raises:
        BlockingIOError: when another process has it.
    """
    if "fcntl" in globals():
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    elif "msvcrt" in globals():
        os.lseek(file, _FAR, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]  # Windows
        except OSError as error:
            raise BlockingIOError(str(error)) from error
        finally:
            os.lseek(file, 0, os.SEEK_SET)


@contextlib.contextmanager
def take_lock(path: Path, seconds: float) -> Iterator[bool]:
    """Hold the lock of a file, which is made; after so many seconds, continue without it.

    Yields:
        Whether the lock is held.

    Raises:
        OSError: when it cannot be made.
    """
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    until = time.monotonic() + seconds
    try:
        while not (is_held := _is_locked(file)) and time.monotonic() < until:
            time.sleep(_POLL_SECONDS)
        yield is_held
    finally:
        os.close(file)


def _is_locked(file: int) -> bool:
    """Lock an open file; False if another process has it, or another thread."""
    try:
        lock(file)
    except BlockingIOError:
        return False
    return True
