"""One writer for a run folder: a lock that the system releases however its holder ends."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from mltune.errors import UsageError
from mltune.files import file_error, lock


class FolderLock:
    """Holds `run.lock` in a folder until closed; SIGKILL releases it, too.

    The file stays when the lock is released. If it were deleted, a third process could lock a new
    file while a second one holds the old file.

    Args:
        folder: which exists.
        option: that names the folder at the command line, for advice.

    Raises:
        UsageError: when another process holds it; the error names that process.
    """

    def __init__(self, folder: Path, option: str = "--run") -> None:
        self._path = path = folder / "run.lock"
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise file_error(path, "write", error) from error
        try:
            lock(self._file)
            os.ftruncate(self._file, 0)
            os.write(self._file, f"{os.getpid()}\n".encode())
        except BlockingIOError:
            holder = os.read(self._file, 32).decode("ascii", "replace").strip()
            self.close()
            advice = f"; wait until it ends, or give another {option}"
            if holder == str(os.getpid()):  # in containers, both are often process 1
                of = "this one or another container's"
                advice = f", {of}; close the objective or the run that has it"
            raise UsageError(
                f"{folder}: in use by process {holder or 'unknown'}{advice}"
            ) from None
        except OSError as error:
            self.close()
            raise file_error(path, "lock", error) from error

    def remove_with_folder(self) -> None:
        """Remove the folder if nothing else is in it; for a holder that has just made it."""
        with suppress(OSError):
            self._path.unlink()
            self._path.parent.rmdir()

    def close(self) -> None:
        """Release the lock; a second call does nothing."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
