"""This Python, its end, and the cores and the memory that it may use, on every system."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

_PR_SET_PDEATHSIG = 1


def python_module(module: str, *arguments: str) -> tuple[str, ...]:
    """Return the command that runs a module with this Python.

    Its path does not begin with the current folder, where a user's `random.py` would be taken for
    Python's own, unless mltune itself lies there.
    """
    is_here = False
    with suppress(OSError):
        is_here = Path(__file__).parents[1].samefile(".")
    return (sys.executable, *(() if is_here else ("-P",)), "-m", module, *arguments)


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


def end_with_parent() -> None:
    """Ask Linux for SIGKILL when the parent ends, however that ends."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
