"""A launch that the host times, because the device's clock is unusable."""

from __future__ import annotations

import time

from mltune.device.opencl.execution import HostTimedExecution

LAUNCH_NS, STEP_NS = 20_000, 10_000


class FakeEvent:
    """An event that its driver reports as running from the beginning."""

    command_execution_status = 1

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds
        self.waits = 0

    def wait(self) -> None:
        self.waits += 1
        time.sleep(self.seconds)


def _launch(event: FakeEvent, *, is_first: bool = False) -> HostTimedExecution:
    now = time.perf_counter_ns()
    return HostTimedExecution(
        event,  # type: ignore[arg-type]
        begun_ns=now, launch_ns=LAUNCH_NS, step_ns=STEP_NS, is_first=is_first,
    )  # fmt: skip


def test_it_lasts_from_its_launch_to_the_end_that_was_waited_for() -> None:
    execution = _launch(FakeEvent(0.01))
    execution.wait()
    time.sleep(0.02)

    assert execution.ended_ns - execution.started_ns >= 10_000_000 - LAUNCH_NS
    assert execution.ended_ns < time.perf_counter_ns() - 1e7
    assert execution.delay_seconds == 0


def test_what_is_as_short_as_a_launch_takes_as_long_as_can_be_told() -> None:
    execution = HostTimedExecution(
        FakeEvent(),  # type: ignore[arg-type]
        begun_ns=time.perf_counter_ns(), launch_ns=10**9, step_ns=STEP_NS,
    )  # fmt: skip

    assert execution.ended_ns - execution.started_ns == STEP_NS


def test_the_first_launch_of_a_program_is_compiling_and_over_when_it_is_said_to_run() -> None:
    event = FakeEvent(0.01)
    execution = _launch(event, is_first=True)

    execution.wait_until_running()

    assert event.waits == 1
    assert execution.delay_seconds == (execution.ended_ns - execution.started_ns) * 1e-9
    assert execution.passes == (execution,)
