"""The device's time of one call in a train of them, without what a single launch costs.

A call that is enqueued alone has its start and its end noted by the device, and waits for both; on
a GPU that takes longer than a small kernel. So `DeviceClock` keeps the device busy with a kernel
of its own while the host enqueues the calls, which then run one after the other, and divides what
they add to the time of that kernel by their number. It is the host's clock that tells: a queue
that records events takes over 1 us longer from each kernel to the next (H200, driver 580.159).
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np
import pyopencl as cl

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
_LEAST_SECONDS, _MOST_SECONDS = 200e-6, 20e-3
_MARGIN = 1.5  # the device may begin before the host goes on
_FIRST_STEPS = 200_000
_PAIRS, _LONG_SECONDS = 6, 10e-3
_MOST_HELD = 3.0  # of what is wanted: a long hold, such as after a build, adds its own noise
_TRIES = 4  # a call that waits for the device is never ahead of it


class DeviceClock:
    """Times trains of calls on one queue."""

    def __init__(self, queue: cl.CommandQueue) -> None:
        """Build the kernel that holds the queue, and find its pace.

        Args:
            queue: in order, without profiling.
        """
        self._queue = queue
        self._out = cl.Buffer(queue.context, cl.mem_flags.WRITE_ONLY, size=4)
        self._kernel = cl.Kernel(built(queue.context, _SOURCE), "hold")
        self._steps = _FIRST_STEPS
        self._run(_nothing, 0)  # what is compiled at a first launch is compiled now
        seconds, _ = self._run(_nothing, 0)
        self._pace = seconds / _FIRST_STEPS
        self._hold(_LEAST_SECONDS)

    def seconds(self, call: Callable[[cl.CommandQueue], object], count: int) -> float | None:
        """Return the mean time of a call; what the host delays a call that waits for it is in it.

        None where the calls take no time that can be told from what disturbs the host.

        Args:
            call: enqueues all commands of one.
            count: how many make a train; at least one.
        """
        for _ in range(_TRIES):
            held, _ = self._run(call, 0)
            seconds, enqueueing = self._run(call, count)
            wanted = min(max(2 * _MARGIN * enqueueing, _LEAST_SECONDS), _MOST_SECONDS)
            if _MARGIN * enqueueing <= held <= _MOST_HELD * wanted:
                break
            self._hold(wanted)
        added = seconds - held
        if added < _LONG_SECONDS:
            added = self._added(call, count)
        return added / count if added > 0 else None

    def _added(self, call: Callable[[cl.CommandQueue], object], count: int) -> float:
        """Return what a train adds to the holding kernel, in the median of several pairs.

        The holding kernel takes up to 0.15 ms more or less by what the device did before (H100:
        10 us of a kernel were 7.8 after cuBLAS and 11.9 after itself). So each follows each as
        often.
        """
        added = []
        for number in range(_PAIRS):
            order = (0, count) if number % 2 == 0 else (count, 0)
            seconds = {each: self._run(call, each)[0] for each in order}
            added.append(seconds[count] - seconds[0])
        return statistics.median(added)

    def _hold(self, seconds: float) -> None:
        self._steps = min(round(seconds / self._pace), 2**32 - 1)

    def _run(self, call: Callable[[cl.CommandQueue], object], count: int) -> tuple[float, float]:
        """Return how long a train behind the holding kernel took, and its enqueueing alone."""
        self._queue.finish()
        start = time.perf_counter()
        self._kernel.set_args(self._out, np.uint32(self._steps))
        cl.enqueue_nd_range_kernel(self._queue, self._kernel, (1,), (1,))
        self._queue.flush()
        for _ in range(count):
            call(self._queue)
        enqueueing = time.perf_counter() - start
        self._queue.finish()
        return time.perf_counter() - start, enqueueing


def _nothing(queue: cl.CommandQueue) -> None:
    pass
