"""The file of a session: one JSON document a line, to which processes append; or its gzip.

    {"device": ..., "compiles_at_launch": ..., ...}   first, once for each process
    {"build": key, "seconds": ..., "local_mem_bytes": ...}   or "error" and "log"
    {"data": hash, "zlib": base64}             bytes that launches wrote
    {"begun": key}                             before the first launch of its kind, lest it crash
    {"launch": key, "writes": [[role, first byte, hash], ...]}   also "error" and "lost"
    {"times": [[key, delay, end, start, end, ...], ...]}   launches, in nanoseconds

The first bytes of writes count from where the kernel's argument begins. A pass starts and ends so
many nanoseconds after the first pass has started, which begins at 0.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mltune.device_info import DeviceInfo
from mltune.errors import UsageError
from mltune.files import file_error
from mltune.kernel import Kernel
from mltune.problem import Problem
from mltune.reading import parse_json, read_packed, read_text

ROLES = ("c", "a", "b", "bias", "scratch", "counters")
"""The buffers that a kernel gets."""

MOST_BYTES = 1 << 30
"""The most bytes of a line's data when unpacked."""

_MOST_NANOSECONDS = 1 << 63
_NO_LINE = (UsageError, ValueError, OverflowError, KeyError, TypeError, AttributeError, zlib.error)


@dataclass(frozen=True, slots=True)
class Built:
    """The result of a build.

    Attributes:
        error: the compiler's first error; empty for a kernel that was built.
        log: the whole log.
    """

    seconds: float = 0.0
    local_mem_bytes: int = 0
    error: str = ""
    log: str = ""


@dataclass(frozen=True, slots=True)
class Write:
    """Bytes that a launch wrote, and their place in an argument.

    Raises:
        ValueError: when there is no such argument.
    """

    role: str
    first_byte: int
    data: bytes

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise ValueError(f"unknown argument '{self.role}'")


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of a launch.

    Attributes:
        error: why it failed; empty if it did not.
        is_lost: whether it failed on the device, rather than before.
    """

    writes: tuple[Write, ...] = ()
    error: str = ""
    is_lost: bool = False


@dataclass(slots=True)
class Session:
    """All answers of a device, by keys.

    Attributes:
        builds: by `build_key`.
        effects: by `launch_key`.
        times: of the launches of one key, in order: the delay, then end, start, end, ...

    Raises:
        ValueError: when no clock ticks like that.
    """

    info: DeviceInfo
    compiles_at_launch: bool
    tick_seconds: float
    prefers_sequences: bool = False
    builds: dict[str, Built] = field(default_factory=dict)
    effects: dict[str, Effect] = field(default_factory=dict)
    times: dict[str, list[tuple[int, ...]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0 <= self.tick_seconds <= 1:
            raise ValueError(f"a tick must be from 0 to 1 seconds, got {self.tick_seconds}")


def build_key(kernel: Kernel) -> str:
    """Return the key of a kernel's build."""
    return f"{kernel.name} {kernel.source_hash}"


def launch_key(build: str, problem: Problem, inputs: Iterable[str], follows: int = 0) -> str:
    """Return the key of a launch, from its build's key and its inputs' digests."""
    often = [follows] if follows else []
    text = json.dumps([build, problem.to_json(), *inputs, *often], sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=10).hexdigest()


def digest(data: Any) -> str:
    """Return the digest of bytes."""
    return hashlib.blake2b(data, digest_size=10).hexdigest()


def read_session(path: Path) -> Session:
    """Read a session.

    Raises:
        UsageError: when the file cannot be read, or is no session.
    """
    data, damage = read_packed(path)
    lines = data.decode("utf-8", errors="replace").splitlines()
    data_of: dict[str, bytes] = {}
    session: Session | None = None
    for number, line in enumerate(lines, 1):
        try:
            document = parse_json(line)
            if "device" in document:
                session = session or Session(
                    info=DeviceInfo.from_json(document["device"]),
                    compiles_at_launch=bool(document["compiles_at_launch"]),
                    tick_seconds=float(document["tick_seconds"]),
                    prefers_sequences=bool(document.get("prefers_sequences", False)),
                )
            elif "data" in document:
                data_of[document["data"]] = _unpacked(document["zlib"])
            elif session is not None:
                _add(session, document, data_of)
        except _NO_LINE as error:
            if number == len(lines):
                break  # the process was ended while it wrote
            raise UsageError(f"{path}: line {number} is no line of a session ({error})") from error
    if session is None:
        raise UsageError(f"{path}: no recorded session{damage and f' ({damage})'}")
    return session


def _add(session: Session, document: Any, data_of: dict[str, bytes]) -> None:
    if "build" in document:
        session.builds[document["build"]] = Built(
            seconds=float(document.get("seconds", 0)),
            local_mem_bytes=int(document.get("local_mem_bytes", 0)),
            error=str(document.get("error", "")),
            log=str(document.get("log", "")),
        )
    elif "begun" in document:
        lost = Effect(error="it ended the process when it was recorded", is_lost=True)
        session.effects.setdefault(document["begun"], lost)
    elif "launch" in document:
        session.effects[document["launch"]] = Effect(
            writes=tuple(
                Write(role, int(first), data_of[name]) for role, first, name in document["writes"]
            ),
            error=str(document.get("error", "")),
            is_lost=bool(document.get("lost", False)),
        )
    for key, *times in document.get("times", ()):
        are_whole = all(type(each) is int and abs(each) < _MOST_NANOSECONDS for each in times)
        if len(times) < 2 or len(times) % 2 or not are_whole:
            raise ValueError(f"times {times!s:.80}")
        session.times.setdefault(key, []).append(tuple(times))


def _unpacked(text: str) -> bytes:
    unpacker = zlib.decompressobj()
    data = unpacker.decompress(base64.b64decode(text), MOST_BYTES)
    if not unpacker.eof:
        raise ValueError("data that is cut off, or too long")
    return data


class SessionWriter:
    """Appends to the file of a session; a line is written as a whole however the process ends.

    Attributes:
        launches: the keys that the file had when it was opened.
    """

    def __init__(self, path: Path) -> None:
        """Open the file.

        Raises:
            UsageError: when it cannot be written, or is no text, as a gzipped session.
        """
        before = read_text(path) if path.exists() else ""
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        except OSError as error:
            raise file_error(path, "write", error) from error
        # Of existing lines only the first word and the key matter.
        words = [line.split('"', 4) for line in before.splitlines()]
        keys = [(each[1], each[3]) for each in words if len(each) == 5]
        self._data = {key for kind, key in keys if kind == "data"}
        self.launches = frozenset(key for kind, key in keys if kind == "launch")

    def add(self, **document: Any) -> None:
        """Write one line."""
        os.write(self._file, json.dumps(document, allow_nan=False).encode() + b"\n")

    def add_data(self, data: bytes) -> str:
        """Write bytes, unless they were written before; return their name."""
        name = digest(data)
        if name not in self._data:
            self._data.add(name)
            text = base64.b64encode(zlib.compress(data, 9)).decode()
            self.add(data=name, zlib=text)
        return name
