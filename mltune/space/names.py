"""The names from outside that a space's expressions may use: of the device and the precision."""

from __future__ import annotations

from mltune.device_info import DeviceInfo, limit_names
from mltune.problem.precision import Precision


def outside_names(device: DeviceInfo, precision: Precision) -> dict[str, int]:
    """Return the names with their numbers."""
    return {**device.limits(), **precision_names(precision)}


def precision_names(precision: Precision) -> dict[str, int]:
    """Return those of the precision.

    `bytes` are those of an element in registers and local memory, where half counts as single;
    `stored_bytes` those in the matrices; `parts` is 2 for complex numbers, else 1.
    """
    return {
        "bytes": max(precision.bytes, Precision.SINGLE.bytes),
        "stored_bytes": precision.bytes,
        "parts": 2 if precision.is_complex else 1,
    }


OUTSIDE_NAMES: frozenset[str] = limit_names() | set(precision_names(Precision.SINGLE))
"""All the names."""
