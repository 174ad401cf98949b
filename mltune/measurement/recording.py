"""A recording: configs of one kernel on one device with their times, from any source."""

from __future__ import annotations

from dataclasses import dataclass

from mltune.measurement.measurement import TIME_LIMITS, Status, is_time
from mltune.space.config import Config


@dataclass(frozen=True, slots=True)
class Point:
    """The time of one config, or its failure.

    Attributes:
        seconds: its time; None if it failed.
        status: its outcome.

    Raises:
        ValueError: when status and time disagree, or the time is outside of the limits.
    """

    config: Config
    seconds: float | None
    status: Status

    def __post_init__(self) -> None:
        if (self.status is Status.OK) != (self.seconds is not None):
            raise ValueError(f"time and status disagree: {self.seconds}, {self.status.value}")
        if self.seconds is not None and not is_time(self.seconds):
            raise ValueError(f"a time must be from {TIME_LIMITS}, got {self.seconds}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """The points of one file or run, without duplicate configs.

    Attributes:
        where: the file or folder, for messages.
        problem: what was computed, as the source says; may be empty.
        device: likewise.
        points: in the order they were recorded.
        notes: one line for every wrong part that was left out.
        family: of the kernels if known; else empty.
        space: the name of the space's file without its suffix, likewise.
        leaders: configs that were the fastest on some size, to be tried first; they name their
            families.
        is_own: whether it is of the same device and problem type as the search that it is for.
    """

    where: str
    problem: str
    device: str
    points: tuple[Point, ...]
    notes: tuple[str, ...] = ()
    family: str = ""
    space: str = ""
    leaders: tuple[Config, ...] = ()
    is_own: bool = False

    @property
    def optimum_seconds(self) -> float | None:
        """The shortest time; None if every config failed."""
        return min((p.seconds for p in self.points if p.seconds is not None), default=None)
