"""How far a search has come: what a progress bar needs to know."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The state of a search after a step.

    Attributes:
        phase: what is being done, in one word.
        done: steps finished of this phase, `total` of which there are.
        best_gflops: speed of the best config of each size so far: geometric mean over the sizes.
        per_minute: trials a minute, once there are some.
        seconds_left: an estimate from the rate; None while unknown.
        failures: counts by status word.
    """

    phase: str
    done: int
    total: int
    best_gflops: float | None = None
    per_minute: float | None = None
    seconds_left: float | None = None
    failures: tuple[tuple[str, int], ...] = ()
