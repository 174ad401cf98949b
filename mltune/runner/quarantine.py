"""Kernels that ended their worker: once may be chance, twice is the kernel's fault.

A worker that was ended by SIGKILL was ended by another process, or by the system for lack of
memory: that counts less. One that ended while it prepared a problem counts for that problem only,
as most likely the problem is too large for the machine.
"""

from __future__ import annotations

from dataclasses import replace

from mltune.kernel import Kernel
from mltune.problem import Problem
from mltune.runner.messages import Outcome

DEATHS = 2
"""After this many deaths a kernel is not run any more."""

KILLS = 5
"""The same for deaths that may be another process's doing."""


class Quarantine:
    """Counts how many workers each kernel has ended."""

    def __init__(self) -> None:
        self._deaths: dict[str, list[tuple[Problem, Outcome]]] = {}

    def note_death(self, kernel: Kernel, problem: Problem, outcome: Outcome) -> None:
        """Note that a kernel ended its worker."""
        self._deaths.setdefault(kernel.source_hash, []).append((problem, outcome))

    def verdict(self, kernel: Kernel, problem: Problem) -> Outcome | None:
        """Return how a quarantined kernel ended last; None if it may be run on a problem."""
        deaths = [
            death
            for of, death in self._deaths.get(kernel.source_hash, [])
            if of == problem or not death.preparing
        ]
        own = [death for death in deaths if not death.outsider]
        if len(own) >= DEATHS:
            return replace(own[-1], message=f"twice: {own[-1].message}")
        if len(deaths) >= KILLS:
            return replace(deaths[-1], message=f"{KILLS} times: {deaths[-1].message}")
        return None
