"""A context with two queues: a plain one, and one that records the times of kernels."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import pyopencl as cl

from mltune.bench.device_clock import DeviceClock
from mltune.device import DeviceEntry
from mltune.device.opencl.listing import driver_device
from mltune.device_info import DeviceInfo


@dataclass(frozen=True, slots=True, eq=False)
class Queues:
    """In-order queues of one device, and the clock of the first one."""

    info: DeviceInfo
    calls: cl.CommandQueue
    profiled: cl.CommandQueue
    clock: DeviceClock

    @classmethod
    def open(cls, entry: DeviceEntry) -> Queues:
        """Make them for a device of the catalogue."""
        device = driver_device(entry)
        context = cl.Context([device])
        calls = cl.CommandQueue(context)
        return cls(
            info=entry.info,
            calls=calls,
            profiled=cl.CommandQueue(
                context, properties=cl.command_queue_properties.PROFILING_ENABLE
            ),
            clock=DeviceClock(calls),
        )

    def call_seconds(self, call: Callable[[cl.CommandQueue], object], count: int) -> float:
        """Return the host's time of one call: of `count` calls between two waits, divided."""
        self.calls.finish()
        start = time.perf_counter()
        for _ in range(count):
            call(self.calls)
        self.calls.finish()
        return (time.perf_counter() - start) / count
