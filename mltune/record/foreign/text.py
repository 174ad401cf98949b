"""The text of a file, gzipped or plain, as far as it can be read."""

from __future__ import annotations

import zlib
from pathlib import Path

from mltune.errors import UsageError
from mltune.files import file_error

_GZIP = b"\x1f\x8b"
_MOST_BYTES = 1 << 30


def read_text(path: Path) -> tuple[str, str]:
    """Read a file; its first bytes say whether it is gzipped.

    Returns:
        the text, and one line that says where it was cut off; empty if it is whole.

    Raises:
        UsageError: when it cannot be read, is too large, or is no text.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise file_error(path, "read", error) from error
    damage = ""
    if data.startswith(_GZIP):
        data, damage = _unzip(data)
    if len(data) > _MOST_BYTES:
        raise UsageError(f"{path}: is larger than {_MOST_BYTES >> 20} MiB")
    try:
        return data.decode("utf-8"), damage
    except UnicodeDecodeError as error:
        if damage and error.end == len(data):
            return data[: error.start].decode("utf-8"), damage
        raise UsageError(f"{path}: is no UTF-8 text ({error.reason}, byte {error.start})") from (
            error
        )


def _unzip(data: bytes) -> tuple[bytes, str]:
    """Unpack all members of a gzip file, but not much more than the most that is read."""
    parts: list[bytes] = []
    room = _MOST_BYTES + 1
    while data and room > 0:
        member = zlib.decompressobj(wbits=31)
        try:
            part = member.decompress(data, room)
        except zlib.error as error:
            return b"".join(parts), f"damaged gzip data, the rest is left out ({error})"
        parts.append(part)
        room -= len(part)
        if not member.eof and room > 0:
            return b"".join(parts), "cut off within its gzip data, the rest is left out"
        data = member.unused_data.lstrip(b"\0")  # a member may be padded with zeros
    return b"".join(parts), ""
