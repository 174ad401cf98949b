"""A held device is not let go before its time."""

from __future__ import annotations

from itertools import count

import pyopencl as cl
import pytest

from mltune.device import choose
from mltune.device.opencl.hold import Hold
from mltune.device.opencl.listing import driver_device


@pytest.fixture
def slow_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host whose clock says that each launch takes a second."""
    ticks = count()
    monkeypatch.setattr("mltune.device.opencl.hold.time.perf_counter", lambda: float(next(ticks)))


@pytest.mark.usefixtures("slow_host")
def test_a_slow_start_is_forgotten(device_spec: str) -> None:
    context = cl.Context([driver_device(choose(device_spec))])
    profiling = cl.command_queue_properties.PROFILING_ENABLE
    held = Hold(cl.CommandQueue(context, properties=profiling))

    for _ in range(2):
        event = held.start(0.05)
        event.wait()

    assert (event.profile.end - event.profile.start) * 1e-9 >= 0.04
