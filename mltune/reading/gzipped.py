"""Files that are gzipped or plain, unpacked within a limit that depends on their size."""

from __future__ import annotations

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
    while data:
        member = zlib.decompressobj(wbits=31)
        while not member.eof:
            try:
                part = member.decompress(data, _PART)
            except zlib.error as error:
                raise _DamagedError(f"damaged gzip data ({error})") from error
            if not part and not member.unconsumed_tail and not member.eof:
                raise _DamagedError("cut off within its gzip data")
            yield part
            data = member.unconsumed_tail
        data = member.unused_data.lstrip(b"\0")  # a member may be padded with zeros
