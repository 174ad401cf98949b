import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from mltune.kernel import Kernel
from mltune.measurement import Status
from mltune.problem import Problem
from mltune.runner.pool import BuilderPool, certain_builders, default_builders
from mltune.runner.probe import probe_problem

Make = Callable[..., Kernel]


@pytest.fixture
def pool(device_spec: str) -> Iterator[BuilderPool]:
    made = BuilderPool(device_spec, 1, 10.0)
    made.share_cores()
    yield made
    made.close()


def fresh(kernel: Kernel, line: str = "") -> Kernel:
    """A kernel that is in no cache."""
    source = kernel.source.replace("{", f"{{ /* {time.time_ns()} */", 1)
    return replace(kernel, source=f"{line}\n{source}")


def endless_to_build(kernel: Kernel) -> Kernel:
    """A kernel that takes minutes to compile."""
    long = "float x = alpha;\n" + "x = sin(x) + cos(x * 3) * tan(x);\n" * 20000 + "c[0] = x;"
    source = kernel.source.replace("{", f"{{ /* {time.time_ns()} */ {long}", 1)
    return replace(kernel, source=source)


def test_a_build_is_told_once(pool: BuilderPool, naive_kernel: Make) -> None:
    good, bad = naive_kernel(), naive_kernel("syntax")
    for kernel in (good, bad, good):
        pool.begin(kernel, 0)

    outcome = pool.take(good)
    refused = pool.take(bad)

    assert outcome is not None
    assert outcome.status is Status.OK
    assert outcome.compile_seconds
    assert refused is not None
    assert refused.status is Status.BUILD_ERROR
    assert pool.take(good) is None
    assert len(pool.spans) == 2


def test_what_runs_badly_is_left_to_the_worker_and_hurts_no_other(
    pool: BuilderPool, naive_kernel: Make
) -> None:
    faults = ("write_far", "endless", "local_memory")
    for fault in faults:
        pool.begin(naive_kernel(fault), 0)
    pool.begin(naive_kernel(), 0)

    for fault in faults:
        outcome = pool.take(naive_kernel(fault))
        assert outcome is not None
        assert outcome.status is Status.LAUNCH_ERROR
    healthy = pool.take(naive_kernel())
    assert healthy is not None
    assert healthy.status is Status.OK


def test_a_kernel_that_kills_its_compiler_twice_is_blamed(
    pool: BuilderPool, naive_kernel: Make
) -> None:
    kernel = fresh(naive_kernel(), "#pragma clang __debug crash")
    pool.begin(kernel, 0)
    pool.begin(naive_kernel(), 0)

    outcome = pool.take(kernel)
    healthy = pool.take(naive_kernel())

    assert outcome is not None
    assert outcome.status is Status.CRASHED
    assert outcome.message.startswith("twice: a builder, while building, was killed by SIG")
    assert healthy is not None
    assert healthy.status is Status.OK


def test_a_builder_killed_from_outside_is_nobodys_fault(
    pool: BuilderPool, naive_kernel: Make
) -> None:
    pool.begin(naive_kernel(), 0)
    pool.take(naive_kernel())
    (builder,) = pool._builders.values()
    os.kill(builder.pid, signal.SIGKILL)
    pool.begin(naive_kernel(), 0)

    outcome = pool.take(naive_kernel())

    assert outcome is not None
    assert outcome.status is Status.OK


def test_a_builder_that_cannot_start_leaves_the_kernel_to_the_worker(
    pool: BuilderPool, naive_kernel: Make
) -> None:
    pool.begin(naive_kernel(), 0)
    pool.take(naive_kernel())
    pool._retire(0)
    pool._command = ("/no/such/program",)
    pool.begin(naive_kernel(), 0)

    outcome = pool.take(naive_kernel())

    assert outcome is not None
    assert outcome.status is Status.LAUNCH_ERROR
    assert outcome.message == "cannot start /no/such/program (No such file or directory)"


def test_the_kernel_that_is_built_first_is_ready_first(
    device_spec: str, naive_kernel: Make
) -> None:
    slow = endless_to_build(naive_kernel())
    quick, unknown = naive_kernel(), naive_kernel("syntax")
    pool = BuilderPool(device_spec, 2, 60.0)
    try:
        pool.begin(slow, 0)
        pool.begin(quick, 0)
        first = pool.soonest((slow, quick))
        at_once = pool.soonest((slow, unknown))
    finally:
        pool.close()

    assert (first, at_once) == (1, 1)


def test_on_the_cores_that_build_the_order_stays_as_it_is(
    pool: BuilderPool, naive_kernel: Make
) -> None:
    pool.begin(naive_kernel(), 0)

    assert pool.soonest((naive_kernel(), naive_kernel("syntax"))) == 0


def test_builders_that_start_are_ended_with_the_pool(device_spec: str) -> None:
    pool = BuilderPool(device_spec, 2, 60.0)
    pool.close()

    assert not pool._builders


def test_nobody_waits_for_a_build_when_the_pool_has_closed(
    device_spec: str, naive_kernel: Make
) -> None:
    pool = BuilderPool(device_spec, 1)
    kernels = endless_to_build(naive_kernel()), fresh(naive_kernel())
    for kernel in kernels:
        pool.begin(kernel, 0)
    waiting = threading.Thread(target=lambda: pool.take(kernels[1]), daemon=True)
    waiting.start()

    pool.close()
    waiting.join(20)

    assert not waiting.is_alive()


def test_a_builders_own_thread_may_end_the_pool(
    pool: BuilderPool, naive_kernel: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    def collect(kernel: Kernel) -> Problem:  # as Python may a lost objective, in any thread
        pool.close()
        return probe_problem(kernel)

    monkeypatch.setattr("mltune.runner.pool.probe_problem", collect)
    pool.begin(naive_kernel(), 0)

    outcome = pool.take(naive_kernel())

    assert outcome is not None
    assert outcome.message == "closing"


def test_a_build_over_its_limit_is_stopped(device_spec: str, naive_kernel: Make) -> None:
    slow = endless_to_build(naive_kernel())
    pool = BuilderPool(device_spec, 1, 0.3)
    try:
        pool.begin(slow, 0)
        outcome = pool.take(slow)
    finally:
        pool.close()

    assert outcome is not None
    assert outcome.status is Status.TIMEOUT
    assert outcome.message.startswith("stopped while building")


@pytest.mark.parametrize(
    ("kind", "cores", "devices", "each"),
    [
        ("gpu", 16, 1, 15),
        ("gpu", 64, 1, 16),
        ("gpu", 64, 4, 15),  # not the number for one device, divided
        ("gpu", 16, 4, 3),
        ("gpu", 2, 4, 1),
        ("cpu", 2, 1, 0),
        ("cpu", 64, 1, 16),
    ],
)
def test_devices_share_the_cores_for_their_builders(
    monkeypatch: pytest.MonkeyPatch, kind: str, cores: int, devices: int, each: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)))

    assert default_builders(kind, devices) == each


@pytest.mark.parametrize(("cores", "certain"), [(2, None), (4, 3), (16, 15)])
def test_builders_need_not_wait_for_the_devices_name_unless_cores_are_few(
    monkeypatch: pytest.MonkeyPatch, cores: int, certain: int | None
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)))

    assert certain_builders() == certain
