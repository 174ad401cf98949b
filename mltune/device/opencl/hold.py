"""A kernel that keeps the device busy while the host enqueues what is to be timed.

It must not end too early. So its pace is the shortest that was ever seen: a pace that was measured
while other programs disturbed the host, or the device's clock was low, made all sequences of a
process five times as slow to measure, as each waited for the host and was taken again (H100).
"""

from __future__ import annotations

import math
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
_FIRST_STEPS, _FIRST_LAUNCHES = 200_000, 5
_COMPLETE = cl.command_execution_status.COMPLETE


class Hold:
    """Holds one in-order queue for a time."""

    def __init__(self, queue: cl.CommandQueue) -> None:
        """Build the kernel, and measure its pace."""
        self._queue = queue
        self._out = cl.Buffer(queue.context, cl.mem_flags.WRITE_ONLY, size=4)
        self._kernel = cl.Kernel(built(queue.context, _SOURCE), "hold")
        self._launch = PassLaunch(self._kernel, (1,), (1,))
        self._has_times = bool(queue.properties & cl.command_queue_properties.PROFILING_ENABLE)
        self._last: tuple[cl.Event, int] | None = None
        self._pace = math.inf  # seconds of a step
        for _ in range(_FIRST_LAUNCHES):
            queue.finish()
            begin = time.perf_counter()
            self._start(_FIRST_STEPS)
            queue.finish()
            self._pace = min(self._pace, (time.perf_counter() - begin) / _FIRST_STEPS)

    def start(self, seconds: float) -> cl.Event:
        """Keep the device busy for about so long, or longer; returns at once."""
        self._learn()
        return self._start(min(round(seconds / self._pace), 2**32 - 1))

    def _learn(self) -> None:
        """Correct the pace by the last launch, if it is over and the queue took its time."""
        if self._last is None or not self._has_times:
            return
        event, steps = self._last
        if steps >= _FIRST_STEPS // 10 and event.command_execution_status == _COMPLETE:
            spent = (event.profile.end - event.profile.start) * 1e-9
            if spent > 0:
                self._pace = min(self._pace, spent / steps)

    def _start(self, steps: int) -> cl.Event:
        set_arguments(self._kernel, (self._out, np.uint32(steps)))
        event = self._launch.start(self._queue)
        self._queue.flush()
        self._last = (event, steps)
        return event
