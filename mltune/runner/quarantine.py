"""Kernels that ended their worker: one death may be bad luck, two are the kernel's doing."""

from __future__ import annotations

from dataclasses import replace

from mltune.kernel import Kernel
from mltune.runner.messages import Outcome

DEATHS = 2
"""After so many a kernel is run no more."""


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
        if len(deaths) < DEATHS:
            return None
        return replace(deaths[-1], message=f"twice: {deaths[-1].message}")
