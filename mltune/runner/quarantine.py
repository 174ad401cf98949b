"""Kernels that ended their worker: one death may be bad luck, two are the kernel's doing.

A worker that was ended by SIGKILL was ended by somebody else, or by the system for want of
memory: that takes longer to become the kernel's fault.
"""

from __future__ import annotations

from dataclasses import replace

from mltune.kernel import Kernel
from mltune.runner.messages import Outcome

DEATHS = 2
"""After so many a kernel is run no more."""

KILLS = 5
"""The same, where each of them may have been somebody else's doing."""


class Quarantine:
    """Counts how many workers each kernel has ended."""

    def __init__(self) -> None:
        self._deaths: dict[str, list[Outcome]] = {}

    def note_death(self, kernel: Kernel, outcome: Outcome) -> None:
        """Note that a worker had to be replaced on account of a kernel."""
        self._deaths.setdefault(kernel.source_hash, []).append(outcome)

    def verdict(self, kernel: Kernel) -> Outcome | None:
        """How a kernel in quarantine ended last; None if it may be run."""
        deaths = self._deaths.get(kernel.source_hash, [])
        own = [death for death in deaths if not death.outsider]
        if len(own) >= DEATHS:
            return replace(own[-1], message=f"twice: {own[-1].message}")
        if len(deaths) >= KILLS:
            return replace(deaths[-1], message=f"{KILLS} times: {deaths[-1].message}")
        return None
