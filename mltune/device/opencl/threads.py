"""Where the threads of a CPU's OpenCL driver run."""

from __future__ import annotations

import os
from collections.abc import MutableMapping

_BINDING = "POCL_AFFINITY"


def keep_threads_apart(environment: MutableMapping[str, str] = os.environ) -> None:
    """Let PoCL bind each of its threads to a core of its own; to be called before it starts them.

    Otherwise two of them are often woken on the same core, where they stay for as long as a small
    kernel takes: it then takes twice as long, at random. PoCL counts cores from 0, so threads are
    left alone where this process may not use all cores; so is what the user chose.
    """
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
    if allowed == set(range(os.cpu_count() or 0)):
        environment.setdefault(_BINDING, "1")
