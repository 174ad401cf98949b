"""The errors that mltune raises on purpose; each kind has one exit code in the command line."""

from __future__ import annotations

LONGEST_MESSAGE = 1000
"""Characters. A message may quote what stood in a file, whatever that was."""


class MltuneError(Exception):
    """Something failed for a reason that can be said in one line (exit code 1).

    The message is one line whatever it quotes: characters that cannot be printed are escaped, and
    the middle of one that is too long is left out.
    """

    def __init__(self, message: str) -> None:
        super().__init__(_one_line(message))


class UsageError(MltuneError):
    """What was asked for is wrong: an option, a file, a name (exit code 2)."""


class UnsupportedError(UsageError):
    """A valid request that no kernel family can write yet (exit code 2)."""


class NoCorrectConfigError(MltuneError):
    """Every config that was tried failed or computed a wrong result (exit code 3)."""


class NoDeviceError(MltuneError):
    """There is no usable OpenCL device, or none by the name that was asked for (exit code 4)."""


class DeviceGoneError(NoDeviceError):
    """A device that worked, and then could not be opened or trusted again (exit code 4)."""


def _one_line(text: str) -> str:
    if len(text) > LONGEST_MESSAGE:
        half = LONGEST_MESSAGE // 2
        text = f"{text[: half - 5]} ... {text[-half:]}"
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
