"""The least time of a problem on a device with published peaks: its roofline.

The work is divided by the peak of the units that give results of the precision, the bytes by the
bandwidth of the memory, each matrix counted once; the longer time is the bound. Single precision
counts as three products of tensor cores if that is faster than plain multiply-adds: of halves from
Hopper on, in TF32 on Ampere, as mltune has such kernels; with a compute type as one product. Data
that fits into a cache may be faster than the memory.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class DataSheet:
    """What a vendor publishes about a device.

    Attributes:
        capability: CUDA's compute capability, times ten.
        bytes_per_second: of its memory.
        cache_bytes: of its last cache.
    """

    capability: int
    bytes_per_second: float
    cache_bytes: float


_DATA_SHEETS: dict[str, DataSheet] = {
    "H200": DataSheet(90, 4.8e12, 50e6),
    "H100 PCIe": DataSheet(90, 2.0e12, 50e6),
    "H100 NVL": DataSheet(90, 3.9e12, 50e6),
    "H100": DataSheet(90, 3.35e12, 50e6),
    "A100-SXM4-80GB": DataSheet(80, 2.04e12, 40e6),
    "A100 80GB": DataSheet(80, 1.94e12, 40e6),
    "A100": DataSheet(80, 1.56e12, 40e6),
    "A40": DataSheet(86, 0.70e12, 6e6),
    "A10": DataSheet(86, 0.60e12, 6e6),
    "A10G": DataSheet(86, 0.60e12, 6e6),
    "L40S": DataSheet(89, 0.86e12, 96e6),
    "L40": DataSheet(89, 0.86e12, 96e6),
    "L4": DataSheet(89, 0.30e12, 48e6),
    "T4": DataSheet(75, 0.32e12, 4e6),
    "V100": DataSheet(70, 0.90e12, 6e6),
    "V100S": DataSheet(70, 1.13e12, 6e6),
    "RTX 4090": DataSheet(89, 1.01e12, 72e6),
    "RTX 4080 SUPER": DataSheet(89, 0.74e12, 64e6),
    "RTX 4080": DataSheet(89, 0.72e12, 64e6),
    "RTX 3090 Ti": DataSheet(86, 1.01e12, 6e6),
    "RTX 3090": DataSheet(86, 0.94e12, 6e6),
    "RTX 3080 Ti": DataSheet(86, 0.91e12, 6e6),
    "RTX 3080": DataSheet(86, 0.76e12, 5e6),
    "RTX 2080 Ti": DataSheet(75, 0.62e12, 5.5e6),
}
"""By words of the device's name; the first match counts."""

_OTHERS = re.compile(r"\b(Laptop|Max-Q|Arc)\b")
"""Words of devices that share another word with those above: slower ones, and Intel's."""

_COLUMN = {
    Precision.HALF: 0,
    Precision.SINGLE: 1,
    Precision.DOUBLE: 2,
    Precision.COMPLEX_SINGLE: 1,
    Precision.COMPLEX_DOUBLE: 2,
}


def data_sheet(device: DeviceInfo) -> DataSheet | None:
    """Return what is published about a device; None if it is not known here."""
    if _OTHERS.search(device.name):
        return None
    matches = (
        sheet for name, sheet in _DATA_SHEETS.items() if re.search(rf"\b{name}\b", device.name)
    )
    return next(matches, None)


def roofline_seconds(problem: Problem, device: DeviceInfo) -> float | None:
    """Return the bound; None if the device's peaks are unknown."""
    sheet = data_sheet(device)
    if sheet is None:
        return None
    # The earliest runs did not record the capability.
    peaks = _FLOPS_A_CYCLE.get(device.compute_capability or sheet.capability)
    if peaks is None or not device.clock_mhz or problem.alpha == 0:
        return None
    precision = problem.contraction.precision
    per_cycle = peaks[_COLUMN[precision]]
    if problem.contraction.rounds:
        # TF32 runs at half the speed of halves at most, bfloat16 at theirs.
        halves = problem.contraction.compute.bytes == 2
        per_cycle = max(per_cycle, peaks[0] / (1 if halves else 2))
    flops = per_cycle * device.compute_units * device.clock_mhz * 1e6
    return max(problem.flops / flops, problem.bytes / sheet.bytes_per_second)
