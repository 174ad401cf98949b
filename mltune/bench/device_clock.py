"""The device's time of one call in a sequence of calls, without the cost of a single launch.

The events of a single call include waiting for the device, which on a GPU takes longer than a
small kernel. So `DeviceClock` keeps the device busy with a kernel of its own while the host
enqueues the calls, which then run one after the other. It divides the time that they add to that
kernel by their number. The host's clock measures it, because a queue that records events takes
over 1 us longer from each kernel to the next (H200, driver 580.159).
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import pyopencl as cl

from mltune.device.opencl.hold import Hold

_LEAST_SECONDS, _MOST_SECONDS = 200e-6, 20e-3
_MARGIN = 1.5  # the device may begin before the host continues
_PAIRS, _LONG_SECONDS = 6, 10e-3
# times the wanted hold: a longer one, such as after a build, adds noise of its own
_MOST_HELD = 3.0
_TRIES = 4  # a call that waits for the device is never ahead of it


class DeviceClock:
    """Times sequences of calls on one queue."""

    def __init__(self, queue: cl.CommandQueue) -> None:
        """Build the kernel that holds the queue, and measure its pace.

        Args:
            queue: in order, without profiling.
        """
        self._queue = queue
        self._hold = Hold(queue)
        self._held = _LEAST_SECONDS

    def seconds(self, call: Callable[[cl.CommandQueue], object], count: int) -> float | None:
        """Return the mean time of a call, with the host's delays if the call waits for the device.

        None if disturbances of the host are longer than the calls.

        Args:
            call: enqueues all commands of one call.
            count: calls in a sequence; at least one.
        """
        for _ in range(_TRIES):
            held, _ = self._run(call, 0)
            seconds, enqueueing = self._run(call, count)
            wanted = min(max(2 * _MARGIN * enqueueing, _LEAST_SECONDS), _MOST_SECONDS)
            if _MARGIN * enqueueing <= held <= _MOST_HELD * wanted:
                break
            self._held = wanted
        added = seconds - held
        if added < _LONG_SECONDS:
            added = self._added(call, count)
        return added / count if added > 0 else None

    def _added(self, call: Callable[[cl.CommandQueue], object], count: int) -> float:
        """Return the time that a sequence adds to the holding kernel, the median of pairs.

        The holding kernel's time varies by up to 0.15 ms with the work before it (H100: a kernel
        of 10 us took 7.8 after cuBLAS and 11.9 after itself). So both orders of a pair are equally
        frequent: with the sequence first, and without it first.
        """
        added = []
        for number in range(_PAIRS):
            order = (0, count) if number % 2 == 0 else (count, 0)
            seconds = {each: self._run(call, each)[0] for each in order}
            added.append(seconds[count] - seconds[0])
        return statistics.median(added)

    def _run(self, call: Callable[[cl.CommandQueue], object], count: int) -> tuple[float, float]:
        """Return the time of a sequence with the holding kernel, and that of enqueueing alone."""
        self._queue.finish()
        start = time.perf_counter()
        self._hold.start(self._held)
        for _ in range(count):
            call(self._queue)
        enqueueing = time.perf_counter() - start
        self._queue.finish()
        return time.perf_counter() - start, enqueueing
