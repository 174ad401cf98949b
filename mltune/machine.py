"""What this process may use of its machine, on every system."""

from __future__ import annotations

import os


def usable_cores() -> frozenset[int]:
    """The numbers of the cores that this process may use; all where the system knows no choice."""
    if hasattr(os, "sched_getaffinity"):
        return frozenset(os.sched_getaffinity(0))
    return frozenset(range(os.cpu_count() or 1))


def memory_bytes() -> int | None:
    """The machine's memory; None where the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None
