"""The least time that a problem can take on a device whose peaks are published: its roofline.

Work is divided by the peak of the units that give results of the precision, bytes by the bandwidth
of the memory, each matrix counted once; the longer of the two is the bound. Single precision
counts as three products of tensor cores where that is faster than plain multiply-adds: of halves
from Hopper on, in TF32 on Ampere, as mltune has kernels of these kinds. What fits into a cache may
be faster than the memory.
"""

from __future__ import annotations

from mltune.device_info import DeviceInfo
from mltune.problem import Precision, Problem

_FLOPS_A_CYCLE: dict[int, tuple[float, float, float]] = {
    70: (1024, 128, 64),
    75: (1024, 128, 4),
    80: (2048, 1024 / 3, 128),
    86: (1024, 256, 4),
    87: (1024, 256, 4),
    89: (1024, 256, 4),
    90: (4096, 4096 / 3, 256),
}
"""By compute capability, of one multiprocessor: half, single, double (NVIDIA's white papers)."""

_BYTES_A_SECOND: dict[str, float] = {
    "H200": 4.8e12,
    "H100 PCIe": 2.0e12,
    "H100 NVL": 3.9e12,
    "H100": 3.35e12,
    "A100-SXM4-80GB": 2.04e12,
    "A100 80GB": 1.94e12,
    "A100": 1.56e12,
    "A40": 0.70e12,
    "A10": 0.60e12,
    "L40S": 0.86e12,
    "L40": 0.86e12,
    "L4": 0.30e12,
    "T4": 0.32e12,
    "V100": 0.90e12,
    "RTX 4090": 1.01e12,
    "RTX 4080": 0.72e12,
    "RTX 3090": 0.94e12,
    "RTX 3080": 0.76e12,
    "RTX 2080 Ti": 0.62e12,
}
"""By a part of the device's name (data sheets); the first that fits counts."""

_COLUMN = {
    Precision.HALF: 0,
    Precision.SINGLE: 1,
    Precision.DOUBLE: 2,
    Precision.COMPLEX_SINGLE: 1,
    Precision.COMPLEX_DOUBLE: 2,
}


def roofline_seconds(problem: Problem, device: DeviceInfo) -> float | None:
    """Return the bound; None where the device's peaks are not known."""
    peaks = _FLOPS_A_CYCLE.get(device.compute_capability)
    words = f" {device.name} "
    bandwidth = next(
        (value for name, value in _BYTES_A_SECOND.items() if f" {name}" in words), None
    )
    if peaks is None or bandwidth is None or not device.clock_mhz or problem.alpha == 0:
        return None
    precision = problem.contraction.precision
    flops = peaks[_COLUMN[precision]] * device.compute_units * device.clock_mhz * 1e6
    return max(problem.flops / flops, problem.bytes / bandwidth)
