"""The least time of a problem on a device with published peaks: its roofline.

The work is divided by the peak of the units that give results of the precision, the bytes by the
bandwidth of the memory, each matrix counted once; the longer time is the bound. Single precision
counts as three products of tensor cores if that is faster than plain multiply-adds: of halves from
Hopper on, in TF32 on Ampere, as mltune has such kernels; with a compute type as one product. Data
that fits into a cache may be faster than the memory.
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
"""By compute capability, per multiprocessor: half, single, double (NVIDIA's white papers)."""

_DATA_SHEETS: dict[str, tuple[int, float]] = {
    "H200": (90, 4.8e12),
    "H100 PCIe": (90, 2.0e12),
    "H100 NVL": (90, 3.9e12),
    "H100": (90, 3.35e12),
    "A100-SXM4-80GB": (80, 2.04e12),
    "A100 80GB": (80, 1.94e12),
    "A100": (80, 1.56e12),
    "A40": (86, 0.70e12),
    "A10": (86, 0.60e12),
    "L40S": (89, 0.86e12),
    "L40": (89, 0.86e12),
    "L4": (89, 0.30e12),
    "T4": (75, 0.32e12),
    "V100": (70, 0.90e12),
    "RTX 4090": (89, 1.01e12),
    "RTX 4080": (89, 0.72e12),
    "RTX 3090": (86, 0.94e12),
    "RTX 3080": (86, 0.76e12),
    "RTX 2080 Ti": (75, 0.62e12),
}
"""Compute capability and bytes a second, by a part of the device's name; the first match counts.
"""

_COLUMN = {
    Precision.HALF: 0,
    Precision.SINGLE: 1,
    Precision.DOUBLE: 2,
    Precision.COMPLEX_SINGLE: 1,
    Precision.COMPLEX_DOUBLE: 2,
}


def roofline_seconds(problem: Problem, device: DeviceInfo) -> float | None:
    """Return the bound; None if the device's peaks are unknown."""
    words = f" {device.name} "
    capability, bandwidth = next(
        (sheet for name, sheet in _DATA_SHEETS.items() if f" {name}" in words), (0, 0.0)
    )
    # The earliest runs did not record the capability.
    peaks = _FLOPS_A_CYCLE.get(device.compute_capability or capability)
    if peaks is None or not bandwidth or not device.clock_mhz or problem.alpha == 0:
        return None
    precision = problem.contraction.precision
    per_cycle = peaks[_COLUMN[precision]]
    if problem.contraction.rounds:
        # TF32 runs at half the speed of halves at most, bfloat16 at theirs.
        halves = problem.contraction.compute.bytes == 2
        per_cycle = max(per_cycle, peaks[0] / (1 if halves else 2))
    flops = per_cycle * device.compute_units * device.clock_mhz * 1e6
    return max(problem.flops / flops, problem.bytes / bandwidth)
