"""One context with two queues: one that records when kernels run, one as users have it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import pyopencl as cl

from mltune.device.catalogue import DeviceEntry, platform_devices


@dataclass(frozen=True, slots=True, eq=False)
class Queues:
    """In-order queues of one device."""

    device: str
    profiled: cl.CommandQueue
    calls: cl.CommandQueue

    @classmethod
    def open(cls, entry: DeviceEntry) -> Queues:
        """Make them for a device of the catalogue."""
        device = platform_devices(cl.get_platforms()[entry.platform])[entry.device]
        context = cl.Context([device])
        return cls(
            device=f"{entry.info.name} ({entry.info.platform} {entry.info.driver_version})",
            profiled=cl.CommandQueue(
                context, properties=cl.command_queue_properties.PROFILING_ENABLE
            ),
            calls=cl.CommandQueue(context),
        )

    def call_seconds(self, call: Callable[[cl.CommandQueue], object], count: int) -> float:
        """Return the host's time of one call: `count` of them between two waits, divided."""
        self.calls.finish()
        start = time.perf_counter()
        for _ in range(count):
            call(self.calls)
        self.calls.finish()
        return (time.perf_counter() - start) / count
