"""The text of a file, gzipped or plain, as far as it is readable."""

from __future__ import annotations

from pathlib import Path

from mltune.reading import read_packed
from mltune.reading.file import decode


def read_text(path: Path) -> tuple[str, str]:
    """Read a file; its first bytes say whether it is gzipped.

    Returns:
        The text, and one line that says where it was cut off; empty if it is whole.

    Raises:
        UsageError: when it cannot be read, is too large, or is no text.
    """
    data, damage = read_packed(path)
    if damage:  # the last character may be cut off, too
        for end in range(len(data), max(len(data) - 4, -1), -1):
            try:
                return data[:end].decode("utf-8-sig"), damage
            except UnicodeDecodeError:
                continue
    return decode(path, data), damage
