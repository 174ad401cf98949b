"""The progress of long work, for a progress bar."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The state of long work after a step.

    Attributes:
        phase: the kind of work, in one word.
        done: finished steps of this phase, of `total`; 0 if unknown.
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


Show = Callable[[Progress], None]
"""Called with each state of the work."""


def ignore_progress(progress: Progress) -> None:
    """Ignore the progress."""


class Pace:
    """Computes rates from the number of trials or measurements since the start.

    Args:
        done: the number before.
    """

    def __init__(self, done: int) -> None:
        self._done_before = done
        self._started = time.monotonic()

    def progress(
        self,
        phase: str,
        done: int,
        total: int,
        best_gflops: float | None = None,
        failures: Counter[str] | None = None,
    ) -> Progress:
        """Return the state after a step."""
        elapsed = time.monotonic() - self._started
        new = done - self._done_before
        left = max(0, total - done)
        return Progress(
            phase=phase,
            done=done,
            total=max(total, done),
            best_gflops=best_gflops,
            per_minute=60 * new / elapsed if new and elapsed else None,
            seconds_left=elapsed / new * left if new and left else None,
            failures=tuple(failures.most_common()) if failures else (),
        )


class Steps:
    """Counts the steps of a phase that take about equally long, and estimates the time left.

    Args:
        name: of the phase.
        show: called after each step.
        end: no step begins after this time of the monotonic clock.
    """

    def __init__(self, name: str, show: Show, end: float = math.inf) -> None:
        self._name, self._show, self._end = name, show, end
        self._began = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        """Note that `done` of `total` steps are finished."""
        now = time.monotonic()
        left = None
        if 0 < done < total:
            left = min((now - self._began) / done * (total - done), max(0.0, self._end - now))
        self._show(Progress(phase=self._name, done=done, total=total, seconds_left=left))
