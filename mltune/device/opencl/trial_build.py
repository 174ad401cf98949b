"""Whether a driver builds anything at all: tried once in a process, with the plainest kernel."""

from __future__ import annotations

import warnings
from functools import lru_cache

import pyopencl as cl

from mltune.device.entry import POCL, DeviceEntry
from mltune.device.opencl.listing import driver_device
from mltune.device.opencl.program import first_error_line

_SOURCE = "__kernel void mltune_trial(__global float *out) { out[get_global_id(0)] = 1; }"
_UNKNOWN_PROCESSOR = "unknown target CPU"


@lru_cache
def build_failure(entry: DeviceEntry) -> str:
    """Say why a device does not build the plainest kernel, and what helps; empty if it does."""
    try:
        device = driver_device(entry)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cl.CompilerWarning)
            program = cl.Program(cl.Context([device]), _SOURCE)
            program.build(cache_dir=False)  # type: ignore[arg-type]  # its annotation forgets False
    except cl.Error as error:
        line = first_error_line(str(error))
        return f"its driver builds no kernel ({line}){_remedy(entry, line)}"
    return ""


def _remedy(entry: DeviceEntry, line: str) -> str:
    if POCL in entry.info.platform and _UNKNOWN_PROCESSOR in line:
        return (
            f": PoCL {entry.info.driver_version} does not know this processor; install another "
            "driver (Debian: pocl-opencl-icd)"
        )
    return ""
