"""The cores and the memory that this process may use, on every system."""

from __future__ import annotations

import os


def usable_cores() -> frozenset[int]:
    """Return the numbers of the cores that this process may use; all if the system cannot say."""
    if hasattr(os, "sched_getaffinity"):
        return frozenset(os.sched_getaffinity(0))
    return frozenset(range(os.cpu_count() or 1))


def memory_bytes() -> int | None:
    """Return the machine's memory in bytes; None if the system does not report it."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None
