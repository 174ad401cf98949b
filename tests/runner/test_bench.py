"""Which measurements have their timed launches checked, and what they are without memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from mltune.device import Device, open_device
from mltune.kernel import Kernel
from mltune.measurement import Status
from mltune.problem import Precision, Problem, gemm, gemm_problem
from mltune.runner import bench as bench_module
from mltune.runner.bench import Bench, DeviceSickError
from mltune.runner.known_good import known_good_kernel
from mltune.runner.messages import Request
from mltune.runner.preparation import Prepared, prepare
from mltune.runner.timing import SamplingPlan
from mltune.runner.workspace import Workspace


def request_of(kernel: Kernel, m: int) -> Request:
    return Request(
        problem=gemm_problem(gemm(Precision.SINGLE), m, 36, 24),
        kernel=kernel,
        plan=SamplingPlan(samples=3),
        seed=3,
        run_seconds=30,
    )


@pytest.mark.parametrize(
    ("kind", "share", "watched"),
    [
        ("cpu", 0.0, [True, True, True]),
        ("gpu", 0.0, [True, False, True]),
        ("gpu", 1.0, [True, True, True]),
    ],
)
def test_a_kernels_first_measurement_and_the_leaders_rounds_are_always_watched(
    device_spec: str,
    naive_kernel: Callable[..., Kernel],
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    share: float,
    watched: list[bool],
) -> None:
    device = open_device(device_spec)
    bench = Bench(device, lambda stage: None, 1 << 28)
    monkeypatch.setattr(device, "_info", replace(device.info, kind=kind))
    monkeypatch.setattr(bench_module, "_WATCHED_SHARE", share)
    launched = Workspace.launch_checked
    seen: list[object] = []

    def launch_checked(workspace: Workspace, program: object) -> object:
        seen.append(workspace)
        return launched(workspace, program)  # type: ignore[arg-type]

    monkeypatch.setattr(Workspace, "launch_checked", launch_checked)
    request = replace(request_of(naive_kernel(), 40), check=False)

    found = []
    for each in (request, request, replace(request, check=True)):
        seen.clear()
        assert bench.measure(each).status is Status.OK
        found.append(bool(seen))

    assert found == watched


@pytest.mark.parametrize(("kind", "counted"), [("cpu", [True, True]), ("gpu", [False, True])])
def test_the_checked_launch_of_a_gpu_whose_clock_may_be_low_does_not_decide_a_race(
    device_spec: str,
    naive_kernel: Callable[..., Kernel],
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    counted: list[bool],
) -> None:
    device = open_device(device_spec)
    bench = Bench(device, lambda stage: None, 1 << 28)
    monkeypatch.setattr(device, "_info", replace(device.info, kind=kind))
    monkeypatch.setattr(type(device), "prefers_sequences", False)  # its events may be of no use
    monkeypatch.setattr(bench_module, "_COOLING_SECONDS", 1e6)
    found: list[bool] = []

    def sample(*_: object, checked_seconds: float, **__: object) -> tuple[float, ...]:
        found.append(checked_seconds > 0)
        return (1.0,)

    monkeypatch.setattr(bench_module, "sample", sample)
    request = request_of(naive_kernel(), 40)

    for _ in range(2):
        assert bench.measure(request).status is Status.OK

    assert found == counted


def test_a_device_that_computes_wrong_is_not_used(
    device_spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = open_device(device_spec)
    Bench(device, lambda stage: None, 1 << 28).prove()
    kernel, problem = known_good_kernel(device.info)
    wrong = replace(kernel, source=kernel.source.replace("alpha * sum", "alpha * sum + 1"))
    monkeypatch.setattr(bench_module, "known_good_kernel", lambda _: (wrong, problem))

    with pytest.raises(DeviceSickError, match=r"^computes a known-good kernel wrong: "):
        Bench(device, lambda stage: None, 1 << 28).prove()


@pytest.mark.parametrize("reason", ["", "Unable to allocate 8 GiB"])
def test_a_problem_that_the_host_has_no_room_for_is_an_answer(
    device_spec: str, naive_kernel: Callable[..., Kernel], reason: str
) -> None:
    def prepare_small(device: Device, problem: Problem, seed: int) -> Prepared:
        if problem.m > 100:
            raise MemoryError(reason)
        return prepare(device, problem, seed)

    bench = Bench(open_device(device_spec), lambda stage: None, 1 << 28, prepare=prepare_small)
    request = request_of(naive_kernel(), 101)

    bench.expect(request.problem, 3)
    outcome = bench.measure(request)

    assert (outcome.status, outcome.retire) == (Status.LAUNCH_ERROR, True)
    assert outcome.message == f"the host has no memory left{': ' * bool(reason)}{reason}"
