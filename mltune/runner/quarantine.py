"""Kernels that ended their worker: once may be chance, twice is the kernel's fault.

A worker that was ended by SIGKILL was ended by another process, or by the system for lack of
memory: that counts less.
"""

from __future__ import annotations

from dataclasses import replace

from mltune.kernel import Kernel
from mltune.runner.messages import Outcome

DEATHS = 2
"""After this many deaths a kernel is not run any more."""

KILLS = 5
"""The same for deaths that may be another process's doing."""


class Quarantine:
    """Counts how many workers each kernel has ended."""

    def __init__(self) -> None:
        self._deaths: dict[str, list[Outcome]] = {}

    def note_death(self, kernel: Kernel, outcome: Outcome) -> None:
        """Note that a kernel ended its worker."""
        self._deaths.setdefault(kernel.source_hash, []).append(outcome)

    def verdict(self, kernel: Kernel) -> Outcome | None:
        """Return how a quarantined kernel ended last; None if it may be run."""
        deaths = self._deaths.get(kernel.source_hash, [])
        own = [death for death in deaths if not death.outsider]
        if len(own) >= DEATHS:
            return replace(own[-1], message=f"twice: {own[-1].message}")
        if len(deaths) >= KILLS:
            return replace(deaths[-1], message=f"{KILLS} times: {deaths[-1].message}")
        return None
