"""The names that a space's expressions may use besides parameters: of device and problem type."""

from __future__ import annotations

from mltune.device_info import DeviceInfo, limit_names
from mltune.problem import ComputeType, Contraction, Precision


def outside_names(device: DeviceInfo, contraction: Contraction) -> dict[str, int]:
    """Return the names with their values."""
    has_epilogue = bool(contraction.epilogue)
    of_type = precision_names(contraction.precision, has_epilogue, contraction.compute)
    return {**device.limits(), **of_type}


def precision_names(
    precision: Precision, has_epilogue: bool = False, compute: ComputeType = ComputeType.FULL
) -> dict[str, int]:
    """Return the names of the problem type.

    `bytes` is the size of an element in registers and local memory, where half counts as single;
    `stored_bytes` is its size in the matrices; `parts` is 2 for complex numbers, else 1;
    `epilogue` is 1 if the problem type has one, else 0; `rounds` likewise for a compute type, and
    `multiplied_bytes` is the size of an element in its format.
    """
    return {
        "bytes": max(precision.bytes, Precision.SINGLE.bytes),
        "stored_bytes": precision.bytes,
        "parts": 2 if precision.is_complex else 1,
        "epilogue": int(has_epilogue),
        "rounds": int(compute is not ComputeType.FULL),
        "multiplied_bytes": min(precision.bytes, compute.bytes),
    }


OUTSIDE_NAMES: frozenset[str] = limit_names() | set(precision_names(Precision.SINGLE))
"""All the names."""
