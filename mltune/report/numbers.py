"""Numbers as text: three digits, with the unit's prefix if there is one."""

from __future__ import annotations

import math

UNKNOWN = "\N{EN DASH}"
"""Stands for a missing number."""

_MOST_TICKS = 7


def number(value: float | None) -> str:
    """Write a number with three digits and no exponent unless it is tiny."""
    if value is None:
        return UNKNOWN
    size = abs(value)
    if size >= 999.5:
        return f"{value:,.0f}"
    value += 0.0  # of zeros, none has a sign
    return f"{value:.3g}" if size >= 1e-4 or value == 0 else f"{value:.1e}"


def whole(value: float) -> str:
    """Write a count or an extent, without commas."""
    return f"{value:.0f}"


def seconds(value: float | None) -> str:
    """Write a time in ns, µs, ms or s."""
    if value is None:
        return UNKNOWN
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= 0.9995 * size:
            return f"{number(value / size)} {unit}"
    return f"{number(value * 1e9)} ns"


def percent(share: float) -> str:
    """Write a share as a percentage, with a decimal below 10 and two below 0.1."""
    value = 100 * share
    size = abs(value)
    if size < 0.005:
        return "0 %"
    digits = 0 if size >= 9.95 else 1 if size >= 0.095 else 2
    return f"{value:.{digits}f} %"


def byte_size(count: int) -> str:
    """Write a number of bytes with a binary prefix."""
    value = float(count)
    for unit in ("B", "KiB", "MiB"):
        if value < 1024:
            return f"{number(value)} {unit}"
        value /= 1024
    return f"{number(value)} GiB"


def round_ticks(low: float, high: float) -> list[float]:
    """Choose about five multiples of 1, 2 or 5 times a power of ten from `low` to `high`."""
    rough = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [index * step for index in range(first, last + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Choose round numbers on a log axis: 1, 2, 5 of each decade, or fewer if it is long.

    An axis shorter than a decade has evenly spaced ones, as in plots.js.
    """
    if high <= 8 * low:
        return round_ticks(low, high)
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    ticks: list[float] = []
    for digits in ((1, 2, 5), (1, 3), (1,)):
        ticks = [
            digit * 10.0**power
            for power in range(first, last + 1)
            for digit in digits
            if low * 0.999 <= digit * 10.0**power <= high * 1.001
        ]
        if len(ticks) <= _MOST_TICKS:
            break
    return ticks[:: math.ceil(len(ticks) / _MOST_TICKS)]
