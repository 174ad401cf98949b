from __future__ import annotations

import time

import numpy as np
import pyopencl as cl
import pytest

from mltune.bench.device_clock import DeviceClock


class FakeGpu:
    """A queue whose device and host share a clock of the test's own, without any noise."""

    def __init__(self, kernel: float, *, launch: float) -> None:
        self.now = self.device_free = 0.0
        self.kernel, self.launch = kernel, launch
        self.calls = 0

    def perf_counter(self) -> float:
        return self.now

    def finish(self) -> None:
        self.now = max(self.now, self.device_free)

    def start(self, seconds: float) -> None:
        """Hold the device, a little longer than asked for."""
        self._enqueue(1.2 * seconds)

    def call(self, queue: object) -> None:
        assert queue is self
        self.calls += 1
        self._enqueue(self.kernel)

    def _enqueue(self, seconds: float) -> None:
        self.now += self.launch
        self.device_free = max(self.device_free, self.now) + seconds


@pytest.mark.parametrize("kernel", [3e-6, 2e-3])
@pytest.mark.parametrize("launch", [1e-6, 80e-6])
def test_a_train_takes_as_long_as_its_calls(
    monkeypatch: pytest.MonkeyPatch, kernel: float, launch: float
) -> None:
    gpu = FakeGpu(kernel, launch=launch)
    monkeypatch.setattr("mltune.bench.device_clock.Hold", lambda queue: queue)
    monkeypatch.setattr("mltune.bench.device_clock.time", gpu)

    seconds = DeviceClock(gpu).seconds(gpu.call, 7)  # type: ignore[arg-type]

    assert seconds == pytest.approx(kernel, rel=1e-6)
    assert gpu.calls % 7 == 0


def test_a_train_runs_on_the_device(queue: cl.CommandQueue) -> None:
    work = cl.Kernel(
        cl.Program(queue.context, "__kernel void add(__global uint *x) { x[0] += 1; }").build(),
        "add",
    )
    count = np.zeros(1, np.uint32)
    buffer = cl.Buffer(
        queue.context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=count
    )
    work.set_args(buffer)

    # None if other work hides the time of the train
    seconds = DeviceClock(queue).seconds(
        lambda queue: cl.enqueue_nd_range_kernel(queue, work, (1,), (1,)), 7
    )

    cl.enqueue_copy(queue, count, buffer)
    assert seconds is None or seconds > 0
    assert count[0] >= 7
    assert count[0] % 7 == 0


def test_a_train_that_the_host_is_late_with_is_run_again(queue: cl.CommandQueue) -> None:
    calls = 0

    def late_at_first(queue: cl.CommandQueue) -> cl.Event:
        nonlocal calls
        calls += 1
        time.sleep(0.05 if calls == 1 else 0)
        return cl.enqueue_marker(queue)

    DeviceClock(queue).seconds(late_at_first, 2)

    assert calls >= 4
