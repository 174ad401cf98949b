import threading
from collections.abc import Callable

import pytest

from mltune.errors import NoDeviceError
from mltune.kernel import KernelFamily
from mltune.measurement import Status
from mltune.problem import gemm, gemm_problem
from mltune.problem.precision import Precision
from mltune.runner import WorkerRunner
from mltune.runner.opening import Opening
from mltune.runner.process import WorkerDiedError, WorkerProcess
from mltune.space.config import Config

PROBLEM = gemm_problem(gemm(Precision.SINGLE), 30, 20, 64)


def test_a_runner_takes_over_what_was_opened_before(
    device_spec: str, naive_family: KernelFamily, naive_config: Callable[..., Config]
) -> None:
    opening = Opening(device_spec, builders=1)
    early = opening.worker.pid
    with WorkerRunner(device_spec, naive_family, builders=7, opening=opening) as runner:
        assert (runner.worker_pid, runner.ahead) == (early, 1)
        runner.prepare(PROBLEM, naive_config())
        measured = runner.run(PROBLEM, naive_config())
        assert measured.status is Status.OK
        assert measured.compile_seconds is not None


def test_the_limit_of_builds_is_that_of_the_runner(
    device_spec: str, naive_family: KernelFamily, naive_config: Callable[..., Config]
) -> None:
    opening = Opening(device_spec, builders=1)
    with WorkerRunner(
        device_spec, naive_family, build_timeout_seconds=1e-3, opening=opening
    ) as runner:
        runner.prepare(PROBLEM, naive_config())
        measured = runner.run(PROBLEM, naive_config())
    assert measured.status is Status.TIMEOUT
    assert "while building" in measured.message


@pytest.mark.device
def test_a_device_that_does_not_exist_is_told_by_the_runner(naive_family: KernelFamily) -> None:
    with (
        Opening("no such device", builders=1) as opening,
        pytest.raises(NoDeviceError, match="no such device"),
    ):
        WorkerRunner("no such device", naive_family, opening=opening)


def test_closing_ends_the_worker(device_spec: str) -> None:
    with Opening(device_spec) as opening:
        worker = opening.worker
    with pytest.raises(WorkerDiedError, match="killed"):
        worker.receive(5)


def test_a_process_without_room_for_its_threads_has_not_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started: list[threading.Thread] = []
    faults: list[object] = []

    def start(thread: threading.Thread) -> None:
        if started:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        late = threading.Timer(0.2, thread.run)
        monkeypatch.setattr(thread, "run", late.run)
        begin(thread)

    begin = threading.Thread.start
    monkeypatch.setattr("threading.Thread.start", start)
    monkeypatch.setattr("threading.excepthook", faults.append)

    with pytest.raises(WorkerDiedError, match=r"cannot start sleep 60 \(can't start new thread\)"):
        WorkerProcess(("sleep", "60"))
    started[0].join(10)

    assert not started[0].is_alive()
    assert not faults
