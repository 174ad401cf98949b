"""A launch with times."""

from __future__ import annotations

from typing import Protocol


class Timed(Protocol):
    """A launch that can be waited for, and then has times."""

    @property
    def started_ns(self) -> int:
        """When it began, in nanoseconds of the device's clock."""
        ...

    @property
    def ended_ns(self) -> int:
        """When it ended, by the same clock."""
        ...

    def wait(self) -> None:
        """Return when it has ended."""
        ...


def seconds_of(launch: Timed) -> float:
    """Return how long a launch took, by the device's clock."""
    # Subtracted as whole numbers, as nanoseconds since 1970 do not fit into a double.
    return (launch.ended_ns - launch.started_ns) * 1e-9
