"""Files that are gzipped or plain, unpacked within a limit that depends on their size."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from pathlib import Path

from mltune.errors import UsageError
from mltune.reading.file import MOST_BYTES, read_bytes, size_text

GZIP = b"\x1f\x8b"
_MOST_TIMES = 100
"""Runs unpack to 4 to 13 times their size, or 80 times if every row has the same long build log;
gzip can reach 1,032 times.
"""
_ALWAYS = 16 * 2**20
_PART = 4 * 2**20
_FED = 2**14
"""Bytes that are unpacked at a time: what a member leaves of them is copied."""
_PADDING = re.compile(rb"\0*")


def read_packed(path: Path) -> tuple[bytes, str]:
    """Read a file; its first bytes say whether it is gzipped.

    Returns:
        The content, and one line that says where it was cut off; empty if it is whole.

    Raises:
        UsageError: when it cannot be read, is no regular file, is too large, or unpacks to more
            than its size allows.
    """
    data = read_bytes(path)
    return unpack(path, data) if data.startswith(GZIP) else (data, "")


def unpack(path: Path, data: bytes) -> tuple[bytes, str]:
    """Unpack all members of a gzip file; see `read_packed`.

    It is unpacked twice, the first time only to count, so that a bomb takes no memory.
    """
    most = min(max(_MOST_TIMES * len(data), _ALWAYS), MOST_BYTES)
    count = 0
    try:
        for part in _parts(data):
            count += len(part)
            if count > most:
                raise UsageError(
                    f"{path}: unpacks to more than {size_text(most)}, too much for its size"
                )
    except _DamagedError:
        pass  # reported below
    parts: list[bytes] = []
    try:
        parts.extend(_parts(data))
    except _DamagedError as error:
        return b"".join(parts), f"{error}, the rest is left out"
    return b"".join(parts), ""


class _DamagedError(Exception):
    """The reason why a gzip file cannot be unpacked any further."""


def _parts(data: bytes) -> Iterator[bytes]:
    place = 0
    while place < len(data):
        member = zlib.decompressobj(wbits=31)
        held = bytearray()  # of damaged data, the last part is left out
        while not member.eof:
            fed = data[place : place + _FED]
            try:
                part = member.decompress(fed, _PART)
            except zlib.error as error:
                raise _DamagedError(f"damaged gzip data ({error})") from error
            held += part
            if len(held) >= _PART or not part:
                yield bytes(held)
                held.clear()
            if not fed and not part:
                raise _DamagedError("cut off within its gzip data")
            place += len(fed) - len(member.unconsumed_tail) - len(member.unused_data)
        yield bytes(held)
        padding = _PADDING.match(data, place)  # a member may be padded with zeros
        assert padding is not None  # the pattern also matches the empty text
        place = padding.end()
