"""Mistakes of a checked launch are found, whatever is launched next."""

from __future__ import annotations

from collections.abc import Callable
from unittest.mock import Mock

import pytest

from mltune.device import Device, Program, open_device
from mltune.kernel import Kernel
from mltune.problem import Precision, gemm, gemm_problem
from mltune.runner.spot_checks import SpotChecks
from mltune.runner.workspace import Workspace

MakeKernel = Callable[..., Kernel]
SGEMM = gemm(Precision.SINGLE)


@pytest.fixture(scope="module")
def device(device_spec: str) -> Device:
    return open_device(device_spec)


@pytest.fixture
def program(device: Device, naive_kernel: MakeKernel) -> Program:
    return device.build(naive_kernel())


@pytest.fixture(
    params=[
        gemm_problem(SGEMM, 48, 40, 9),
        gemm_problem(SGEMM, 48, 40, 9, beta=0.5),
        gemm_problem(SGEMM, 48, 40, 9, beta=-0.9, offset_c=500, ldc=50),
        gemm_problem(SGEMM, 1, 1, 9),
        gemm_problem(SGEMM, 3, 1, 9, beta=0.5),
    ],
    ids=["beta 0", "beta 0.5", "offset", "one element", "few elements"],
)
def workspace(request: pytest.FixtureRequest, device: Device, program: Program) -> Workspace:
    problem = request.param
    workspace = Workspace.make(device, problem.canonical(), 0, is_timed=True)
    workspace.restore()
    workspace.launch(program)
    return workspace


def checks(workspace: Workspace) -> SpotChecks:
    assert workspace.spot_checks is not None
    return workspace.spot_checks


def test_launches_that_do_their_work_are_right(workspace: Workspace, program: Program) -> None:
    for launch in (workspace.launch_checked, workspace.launch, workspace.launch_checked):
        for _ in range(3):
            launch(program)

    assert len(checks(workspace)._checks) == 6
    assert workspace.spot_fault() == ""


def test_a_launch_that_did_nothing_is_found_though_the_next_one_does_its_work(
    workspace: Workspace, program: Program
) -> None:
    checks(workspace).before(workspace.c)  # and nothing is launched

    workspace.launch(program)

    assert workspace.spot_fault().startswith("a timed launch left ")


@pytest.mark.parametrize("right_before", [0, 2])
@pytest.mark.parametrize("right_after", [0, 2])
def test_one_of_several_checked_launches_in_a_row_that_did_nothing_is_found(
    workspace: Workspace, program: Program, right_before: int, right_after: int
) -> None:
    for _ in range(right_before):
        workspace.launch_checked(program)
    checks(workspace).before(workspace.c)
    for _ in range(right_after):
        workspace.launch_checked(program)

    assert workspace.spot_fault().startswith("a timed launch left ")


def test_what_was_seen_is_forgotten_with_the_contents_of_c(
    workspace: Workspace, program: Program
) -> None:
    checks(workspace).before(workspace.c)
    workspace.restore()
    workspace.launch(program)

    assert workspace.spot_fault() == ""


def test_launches_that_follow_each_other_are_looked_at_and_spoilt_at_once(
    workspace: Workspace, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    exchange = Mock(wraps=checks(workspace)._spots.exchange)
    monkeypatch.setattr(checks(workspace)._spots, "exchange", exchange)
    for _ in range(2):
        workspace.launch_checked(program)
    workspace.launch(program)
    workspace.launch_checked(program)

    assert workspace.spot_fault() == ""
    assert exchange.call_count == 5
