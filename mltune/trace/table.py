"""Reads the tables that `interpose.c` writes, a file for each process, even after a crash.

A file is a header of 64 bytes (magic, capacity, bytes of an entry, process, lost calls, failed
calls) and entries of 64 bytes: state, sampled calls, three words of the key (arguments as the
program gave them), all calls, and nanoseconds of the first call, of the next 15, and of those that
were sampled after them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from mltune.errors import UsageError
from mltune.problem import Size, gemm
from mltune.problem.calls import Calls, merge_calls
from mltune.problem.precision import Precision
from mltune.problem.size import MAX_EXTENT

SUFFIX = ".table"
WARM = 16
_MAGIC = b"MLTRACE1"
_HEADER = struct.Struct("<8sIIQQQ24x")
_ENTRY = struct.Struct("<IIQQQQQQQ")
_READY = 2
_BATCHED = 1 << 31
_ROW_MAJOR = 1 << 7
_LETTERS = dict.fromkeys((*b"nNrR", 111, 0), "n") | dict.fromkeys((*b"tT", 112, 1), "t")
"""BLAS's, CBLAS's and clBLAS's words for a transpose; all others are a conjugate transpose."""
_INTERFACES = {1: "cblas", 2: "blas", 3: "clblast", 4: "clblas"}
ON_DEVICE = frozenset({"clblast", "clblas"})
"""Interfaces whose calls return before the device is done, so that the host's time says little."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The calls of all processes of a program.

    Attributes:
        calls: merged.
        processes: that made calls.
        lost: number of calls of sizes beyond the table's capacity.
        skipped: number of calls with an empty matrix, or a size that is negative or too large.
        failed: number of calls that returned an error; a call that fails after many of its size
            that did not may be counted as one of these.
    """

    calls: tuple[Calls, ...]
    processes: int
    lost: int
    skipped: int
    failed: int = 0


def read_tables(folder: Path, *, waited: bool) -> Seen:
    """Read all tables of a folder.

    Args:
        folder: with the tables.
        waited: whether calls on a device were timed until their end.

    Raises:
        UsageError: when a file is damaged.
    """
    calls: list[Calls] = []
    processes = lost = skipped = failed = 0
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        table = path.read_bytes()
        if table[:8] != _MAGIC:  # the process ended while it made the table
            continue
        processes += 1
        lost += _HEADER.unpack_from(table)[4]
        failed += _HEADER.unpack_from(table)[5]
        for entry in _entries(table, path):
            found = _calls(entry, waited=waited)
            if found is None:
                skipped += entry[5]
            else:
                calls.append(found)
    return Seen(merge_calls(calls), processes, lost, skipped, failed)


def _entries(table: bytes, path: Path) -> Iterator[tuple[int, ...]]:
    capacity = _HEADER.unpack_from(table)[1]
    if len(table) != _HEADER.size + capacity * _ENTRY.size:
        raise UsageError(f"{path}: is no table of calls")
    entries: Iterable[tuple[int, ...]] = _ENTRY.iter_unpack(table[_HEADER.size :])
    return (entry for entry in entries if entry[0] == _READY and entry[5])


def _calls(entry: tuple[int, ...], *, waited: bool) -> Calls | None:
    """Return the calls of an entry; None if `Size` cannot hold theirs."""
    _, sampled, first, sides, k, count, *nanoseconds = entry
    precision = Precision(chr(first >> 8 & 0xFF))
    interface = _INTERFACES[first & 0xFF & ~_ROW_MAJOR]
    trans_a, trans_b = (_LETTERS.get(first >> bits & 0xFF, "c") for bits in (16, 24))
    batch = first >> 32
    extents = [sides & 0xFFFFFFFF, sides >> 32, k]
    if first & _ROW_MAJOR:  # C^T = op(B)^T op(A)^T
        trans_a, trans_b = trans_b, trans_a
        extents[:2] = reversed(extents[:2])
    is_batched = bool(batch & _BATCHED)
    if is_batched:
        extents.append(batch & ~_BATCHED)
    if not all(1 <= extent <= MAX_EXTENT for extent in extents):
        return None
    known = waited or interface not in ON_DEVICE
    return Calls(
        contraction=gemm(precision, trans_a, trans_b, batched=is_batched),
        size=Size(tuple(extents), count),
        seconds=_seconds(count, sampled, *nanoseconds) if known else None,
        interface=interface,
    )


def _seconds(count: int, sampled: int, first: int, warm: int, later: int) -> float:
    """Return the time of all calls; the first one's may include set-up and is replaced."""
    if count == 1:
        return first * 1e-9
    timed = min(count - 1, WARM - 1)
    if sampled > timed:  # enough without those that may have found cold caches
        timed, warm = 0, 0
    return count * (warm + later) / (timed + sampled) * 1e-9
