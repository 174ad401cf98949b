"""A measurement: the speed of one config on one problem, or its failure."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from enum import Enum, StrEnum

from mltune.problem import Problem
from mltune.space.config import Config

PROTOCOL_VERSION = 2
"""Incremented when timing or validating changes, so that old numbers stay separate."""

SHORTEST_SECONDS, LONGEST_SECONDS = 1e-12, 1e9
"""The limits of a time; anything else is no time, and its sums or logarithms could fail."""
TIME_LIMITS = f"{SHORTEST_SECONDS:g} to {LONGEST_SECONDS:g} seconds".replace("e+0", "e")


class Status(Enum):
    """The outcome of a measurement."""

    OK = "ok"
    BUILD_ERROR = "build_error"
    LAUNCH_ERROR = "launch_error"
    WRONG_RESULT = "wrong_result"
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    INVALID = "invalid"


class Phase(StrEnum):
    """The purpose of a measurement."""

    SEARCH = "search"
    FINAL = "final"
    """A final round of the leaders, on which later stages rely."""
    DISTURBED = "disturbed"
    """A round that something else slowed down: it is kept, and does not count."""


def is_time(seconds: float) -> bool:
    """Whether a number is within the limits of a time."""
    return SHORTEST_SECONDS <= seconds <= LONGEST_SECONDS  # also false for NaN


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One config on one problem, on one device.

    Attributes:
        seconds: every timed sample, kernel time by device events, in order; empty unless ok.
        max_error: largest |computed - reference| over the output; None if it was not computed.
        error_bound: the largest allowed `max_error`.
        message: why it failed, first line first; empty if ok.
        timestamp: UTC, ISO 8601.
        trial: the number of the trial in its run; -1 outside a run.
        phase: its purpose.
        observed: other observed values by name, sorted: `anchor_seconds` is the longer one of the
            reference kernel's times just before and after; observers add theirs.
        id: the row's number in its run's database; 0 before it is stored.

    Raises:
        ValueError: when status and times disagree, or a time is outside of the limits.
    """

    problem: Problem
    config: Config
    family: str
    kernel: str
    source_hash: str
    build_options: tuple[str, ...]
    device: str
    driver: str
    uuid: str
    status: Status
    seconds: tuple[float, ...] = ()
    max_error: float | None = None
    error_bound: float | None = None
    compile_seconds: float | None = None
    compile_cached: bool = False
    message: str = ""
    timestamp: str = ""
    protocol: int = PROTOCOL_VERSION
    trial: int = -1
    phase: Phase = Phase.SEARCH
    observed: tuple[tuple[str, float], ...] = ()
    id: int = 0

    def __post_init__(self) -> None:
        if (self.status is Status.OK) != bool(self.seconds):
            raise ValueError(
                f"times and status disagree: {self.status.value} with {len(self.seconds)} times"
            )
        if not all(map(is_time, self.seconds)):
            raise ValueError(f"times must be from {TIME_LIMITS}, got {self.seconds}")

    @property
    def median(self) -> float | None:
        """The reported time in seconds: the median of the samples; None if it failed."""
        return statistics.median(self.seconds) if self.seconds else None

    def seen(self, name: str) -> float | None:
        """Return an observed value; None if it was not observed."""
        return dict(self.observed).get(name)

    @property
    def gflops(self) -> float | None:
        """10^9 floating-point operations a second at the median; None if it failed."""
        median = self.median
        return None if median is None else self.problem.flops / median / 1e9
