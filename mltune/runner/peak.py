"""A lower bound for the time of a problem, from the roofline, to refuse impossible times.

The bound is generous: it detects a wrong clock, and is no model of a device. The frequency that a
driver states is not used: some state 0, or 300 MHz for a processor of 4 GHz.
"""

from __future__ import annotations

from mltune.device_info import DeviceInfo
from mltune.problem import Problem
from mltune.problem.precision import Precision

# The most floating-point operations per cycle of any unit by 2026: on a GPU those of its matrix
# units, on a processor two fused multiply-adds of 512 bits in every core.
_GPU_FLOPS = {
    Precision.HALF: 4096,
    Precision.SINGLE: 2048,
    Precision.DOUBLE: 512,
    Precision.COMPLEX_SINGLE: 2048,
    Precision.COMPLEX_DOUBLE: 512,
}
_CPU_FLOPS = {
    Precision.HALF: 2048,
    Precision.SINGLE: 64,
    Precision.DOUBLE: 32,
    Precision.COMPLEX_SINGLE: 64,
    Precision.COMPLEX_DOUBLE: 32,
}
# No GPU of 2026 runs at more than 3.3 GHz, no processor at more than 6.2.
_MOST_HERTZ = {"cpu": 8e9}
_MOST_GPU_HERTZ = 5e9


def least_seconds(problem: Problem, device: DeviceInfo) -> float:
    """Return a time that no kernel can undercut; 0 if alpha is 0 and nothing is multiplied."""
    if problem.alpha == 0:
        return 0.0
    table = _CPU_FLOPS if device.kind == "cpu" else _GPU_FLOPS
    contraction = problem.contraction
    is_half = contraction.compute.bytes < contraction.precision.bytes == 4
    per_cycle = table[Precision.HALF if is_half else contraction.precision]
    hertz = _MOST_HERTZ.get(device.kind, _MOST_GPU_HERTZ)
    return problem.flops / (per_cycle * max(device.compute_units, 1) * hertz)
