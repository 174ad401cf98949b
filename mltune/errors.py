"""The errors that mltune raises; the command line has an exit code for each kind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

LONGEST_MESSAGE = 1000
"""In characters, as a message may quote any part of a file."""


class MltuneError(Exception):
    """Something failed, and one line says why (exit code 1).

    The message is always one line. Characters that cannot be printed are escaped, and the middle
    of a message that is too long is left out.
    """

    def __init__(self, message: str) -> None:
        super().__init__(_one_line(message))


class DiskFullError(MltuneError):
    """A disk is full (exit code 1).

    Attributes:
        reason: what is full, without advice.
    """

    def __init__(self, reason: str, advice: str = "") -> None:
        super().__init__(reason + advice)
        self.reason = reason

    def resumed_by(self, again: str) -> DiskFullError:
        """Return it with the command that resumes, in place of an earlier one."""
        kept = "the measurements until then are kept"
        return DiskFullError(self.reason, f"; {kept}: free space, then {again}")


class UsageError(MltuneError):
    """A wrong option, file or name (exit code 2)."""


class UnsupportedError(UsageError):
    """A valid request that no kernel family supports yet (exit code 2)."""


class NoCorrectConfigError(MltuneError):
    """Every config failed or computed a wrong result (exit code 3)."""


class NoDeviceError(MltuneError):
    """There is no usable OpenCL device, or none of the given name (exit code 4).

    Attributes:
        known: the devices that there are, if none has the given name.
    """

    def __init__(self, message: str, *, known: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.known = tuple(known)


class DeviceGoneError(NoDeviceError):
    """A device that worked before cannot be opened or trusted any more (exit code 4)."""


@contextmanager
def naming(file: Path) -> Iterator[None]:
    """Put a file's name before the message of a `UsageError` that does not have it."""
    try:
        yield
    except UsageError as error:
        message = str(error)
        raise UsageError(message if str(file) in message else f"{file}: {message}") from error


def _one_line(text: str) -> str:
    if len(text) > LONGEST_MESSAGE:
        half = LONGEST_MESSAGE // 2
        text = f"{text[: half - 5]} ... {text[-half:]}"
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
