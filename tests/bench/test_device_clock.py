from __future__ import annotations

import time

import pyopencl as cl
import pytest

from mltune.bench.device_clock import DeviceClock
from mltune.device import choose
from mltune.device.opencl.listing import driver_device


@pytest.fixture
def queue(device_spec: str) -> cl.CommandQueue:
    entry = choose(device_spec)
    device = driver_device(entry)
    return cl.CommandQueue(cl.Context([device]))


def test_a_train_takes_as_long_as_its_calls(queue: cl.CommandQueue) -> None:
    clock = DeviceClock(queue)
    source = (
        "__kernel void work(__global uint *x) { for (uint i = 0; i < 3000000; ++i) x[0] *= i; }"
    )
    work = cl.Kernel(cl.Program(queue.context, source).build(), "work")
    buffer = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, size=4)
    work.set_args(buffer)
    calls = 0

    def call(queue: cl.CommandQueue) -> None:
        nonlocal calls
        calls += 1
        cl.enqueue_nd_range_kernel(queue, work, (1,), (1,))

    call(queue)
    queue.finish()
    started = time.perf_counter()
    call(queue)
    queue.finish()
    alone = time.perf_counter() - started

    # On a busy machine other work may hide the time of a train of launches; then the clock returns
    # None.
    seconds = next(filter(None, (clock.seconds(call, 7) for _ in range(50))))

    assert alone / 50 < seconds < alone * 50
    assert calls % 7 == 2


def test_a_train_that_the_host_is_late_with_is_run_again(queue: cl.CommandQueue) -> None:
    calls = 0

    def late_at_first(queue: cl.CommandQueue) -> cl.Event:
        nonlocal calls
        calls += 1
        time.sleep(0.05 if calls == 1 else 0)
        return cl.enqueue_marker(queue)

    DeviceClock(queue).seconds(late_at_first, 2)

    assert calls >= 4
