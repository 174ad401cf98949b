"""Binds the threads of a CPU's OpenCL driver to cores."""

from __future__ import annotations

import os

_BINDING = "POCL_AFFINITY"


def keep_threads_apart() -> None:
    """Let PoCL bind each thread to a core; to be called before it starts its threads.

    Otherwise two threads often wake on the same core and stay there for a small kernel's whole
    run, so that it takes twice as long, at random. PoCL counts cores from 0, so nothing is changed
    if this process may not use all cores, or if the user has set the variable.
    """
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
    if allowed == set(range(os.cpu_count() or 0)):
        os.environ.setdefault(_BINDING, "1")
