"""A kernel that keeps the device busy while the host enqueues what is to be timed."""

from __future__ import annotations

import time

import numpy as np
import pyopencl as cl

from mltune.device.opencl.pass_launch import PassLaunch, set_arguments
from mltune.device.opencl.quiet import built

_SOURCE = """
__kernel void hold(__global uint *out, const uint steps)
{
    uint x = steps;
    for (uint i = 0; i < steps; ++i)
        x = x * 1664525u + 1013904223u;
    *out = x;
}
"""
_FIRST_STEPS = 200_000


class Hold:
    """Holds one in-order queue for a time."""

    def __init__(self, queue: cl.CommandQueue) -> None:
        """Build the kernel, and measure its pace."""
        self._queue = queue
        self._out = cl.Buffer(queue.context, cl.mem_flags.WRITE_ONLY, size=4)
        self._kernel = cl.Kernel(built(queue.context, _SOURCE), "hold")
        self._launch = PassLaunch(self._kernel, (1,), (1,))
        for _ in range(2):  # drivers that compile at the first launch do it then
            queue.finish()
            begin = time.perf_counter()
            self._start(_FIRST_STEPS)
            queue.finish()
            self._pace = (time.perf_counter() - begin) / _FIRST_STEPS

    def start(self, seconds: float) -> cl.Event:
        """Keep the device busy for about so long; returns at once."""
        return self._start(min(round(seconds / self._pace), 2**32 - 1))

    def _start(self, steps: int) -> cl.Event:
        set_arguments(self._kernel, (self._out, np.uint32(steps)))
        event = self._launch.start(self._queue)
        self._queue.flush()
        return event
