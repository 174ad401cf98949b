"""Whether a device can compute a problem at all; checked before the first trial."""

from __future__ import annotations

from collections.abc import Iterable

from mltune.device_info import DeviceInfo
from mltune.errors import NoDeviceError, UsageError
from mltune.problem import Problem
from mltune.problem.precision import Precision
from mltune.runner.data import Layout


def refuse_precisions(precisions: Iterable[Precision], device: DeviceInfo) -> None:
    """Refuse a device without the arithmetic that a precision needs.

    A device without half arithmetic computes half precision in single precision.

    Raises:
        NoDeviceError: that names the first one.
    """
    for precision in precisions:
        if precision.is_double and not device.fp64:
            raise NoDeviceError(
                f"device {device.name} ({device.platform}) has no double precision, which "
                f"'{precision.letter}' problems need; --device may name another"
            )


def refuse_too_large(problems: Iterable[Problem], device: DeviceInfo) -> None:
    """Refuse problems with a matrix that is larger than a buffer can be.

    Raises:
        UsageError: that names the first one.
    """
    for problem in problems:
        nbytes, tensor = _largest(problem)
        if nbytes > device.max_alloc_bytes:
            raise UsageError(
                f"sizes: {problem.label} takes {nbytes:,} bytes for {tensor.upper()}, and a "
                f"buffer on {device.name} has at most {device.max_alloc_bytes:,}"
            )


def fits(problem: Problem, device: DeviceInfo) -> bool:
    """Whether no matrix of a problem is larger than a buffer can be."""
    return _largest(problem)[0] <= device.max_alloc_bytes


def _largest(problem: Problem) -> tuple[int, str]:
    """Return the bytes and the name of the largest matrix."""
    itemsize = problem.contraction.precision.bytes
    return max(
        (Layout.of(problem, tensor).length * itemsize, tensor) for tensor in problem.tensors
    )
