"""An axis: converts values to places in a picture, linear or logarithmic, with ticks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from mltune.report.numbers import log_ticks, number, percent, round_ticks, seconds, whole

_WRITERS: dict[Callable[[float], str], str] = {
    number: "number",
    percent: "percent",
    seconds: "seconds",
    whole: "whole",
}
"""The names that plots.js uses for the formats that it shares."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """Values from `low` to `high`, each with a place from 0 to 1.

    Attributes:
        label: the quantity, with its unit.
        write: turns a tick into text.
        at: the ticks; None for round numbers.
    """

    label: str
    low: float
    high: float
    log: bool = False
    write: Callable[[float], str] = number
    at: tuple[float, ...] | None = None

    @classmethod
    def around(
        cls,
        label: str,
        values: Iterable[float],
        *,
        log: bool = False,
        write: Callable[[float], str] = number,
    ) -> Axis:
        """Make an axis for values: a linear one begins at 0, a logarithmic one has a margin."""
        known = list(values)
        low, high = min(known, default=1.0), max(known, default=1.0)
        if log:
            margin = max((high / low) ** 0.04, 1.1)
            return cls(label=label, low=low / margin, high=high * margin, log=True, write=write)
        return cls(label=label, low=0.0, high=high * 1.05 or 1.0, write=write)

    @classmethod
    def of_extents(cls, label: str, extents: Iterable[int]) -> Axis:
        """Make a logarithmic axis for extents of matrices, with powers of two as ticks."""
        known = list(extents)
        low, high = min(known) / 1.6, max(known) * 1.6
        base = 4 if high / low > 64 else 2
        ticks = tuple(float(base**power) for power in range(32) if low <= base**power <= high)
        return cls(label=f"{label} (log)", low=low, high=high, log=True, write=whole, at=ticks)

    def place(self, value: float) -> float:
        """Return the place of a value from 0 (low end) to 1 (high end), limited to this range."""
        inside = min(max(value, self.low), self.high)
        if self.log:
            return math.log(inside / self.low) / math.log(self.high / self.low)
        return (inside - self.low) / (self.high - self.low)

    def for_script(self) -> list[Any]:
        """Return the data with which the page draws ticks for a part of the axis.

        Returns:
            The ends, whether it is logarithmic, and the format of numbers; if the ticks are names,
            their places (0 to 1) with these names. Without ticks the axis cannot be enlarged.
        """
        if self.write in _WRITERS and self.at != ():
            return [self.low, self.high, self.log, _WRITERS[self.write]]
        return [[round(self.place(tick), 4), self.write(tick)] for tick in self.ticks()]

    def ticks(self) -> tuple[float, ...]:
        """Return the values to write beside the axis."""
        if self.at is not None:
            return self.at
        return tuple((log_ticks if self.log else round_ticks)(self.low, self.high))
