"""Large results are compared on the device, which finds all that the host would find."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from mltune.device import Device, open_device
from mltune.problem import Precision, Problem, gemm, gemm_problem
from mltune.problem.gemm import parse_problem_type
from mltune.problem.problem import problem_of_size
from mltune.runner import preparation
from mltune.runner import workspace as workspace_module
from mltune.runner.data import PATTERN_BYTE, Array, Layout
from mltune.runner.device_reference import DeviceReference
from mltune.runner.preparation import Prepare, prepare_on_device, prepare_on_host
from mltune.runner.validation import Verdict, check
from mltune.runner.workspace import Workspace

Spoil = Callable[[Array, Layout], None]


@pytest.fixture(scope="module")
def device(device_spec: str) -> Device:
    return open_device(device_spec)


@pytest.fixture(autouse=True)
def everything_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparation, "LARGE", 1)


@pytest.fixture(params=[prepare_on_host, prepare_on_device])
def prepare(request: pytest.FixtureRequest) -> Prepare:
    made: Prepare = request.param
    return made


def made(precision: Precision, beta: float = 0.5) -> Problem:
    """A batch with gaps between its columns and an offset."""
    return gemm_problem(gemm(precision, batched=True), 7, 5, 9, 3, ldc=11, offset_c=3, beta=beta)


def result(workspace: Workspace) -> tuple[Array, Layout]:
    """The right result in its guarded buffer."""
    layout = Layout.of(workspace.problem, "c")
    buffer = np.empty(layout.length, layout.dtype)
    buffer.view(np.uint8).fill(PATTERN_BYTE)
    layout.elements(buffer)[...] = workspace.right.values.astype(layout.dtype)
    return buffer, layout


def verdicts(workspace: Workspace, computed: Array) -> tuple[Verdict, Verdict]:
    """The mistakes that the workspace finds, and those that the host finds."""
    workspace.device.write(workspace.c, computed)
    layout = Layout.of(workspace.problem, "c")
    return workspace.check(), check(computed.copy(), layout, workspace.right)


PROBLEMS = {
    **{precision.name.lower(): made(precision) for precision in Precision},
    "beta 0": made(Precision.SINGLE, beta=0.0),
    "einsum": problem_of_size(parse_problem_type("s:bmk,kcn->bmcn"), (4, 3, 5, 2, 6), 1.0, 0.0),
}


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_a_right_result_is_found_right_without_the_host(
    device: Device, prepare: Prepare, problem: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = Workspace.make(device, problem.canonical(), 0, prepare=prepare)
    found, expected = verdicts(workspace, result(workspace)[0])
    monkeypatch.setattr(workspace_module, "check", None)

    assert workspace.check() == found
    assert found.fault == expected.fault == ""
    assert found.max_error == pytest.approx(expected.max_error)
    assert found.error_bound == pytest.approx(expected.error_bound)


def last_element(buffer: Array, layout: Layout) -> None:
    elements = layout.elements(buffer)
    elements[(-1,) * elements.ndim] += 0.25


def not_a_number(buffer: Array, layout: Layout) -> None:
    elements = layout.elements(buffer)
    elements[(0,) * elements.ndim] = np.nan


def first_guard(buffer: Array, layout: Layout) -> None:
    buffer.view(np.uint8)[0] ^= 1


def last_guard(buffer: Array, layout: Layout) -> None:
    buffer.view(np.uint8)[-1] ^= 0x80


def just_before(buffer: Array, layout: Layout) -> None:
    buffer[layout.guard + layout.offset - 1] = 0


def gap_between_columns(buffer: Array, layout: Layout) -> None:
    buffer[layout.guard + layout.offset + layout.extents[0]] = 0


@pytest.mark.parametrize("precision", Precision)
@pytest.mark.parametrize(
    "spoil",
    [last_element, not_a_number, first_guard, last_guard, just_before, gap_between_columns],
)
def test_a_single_fault_is_seen(
    device: Device, prepare: Prepare, precision: Precision, spoil: Spoil
) -> None:
    workspace = Workspace.make(device, made(precision), 0, prepare=prepare)
    computed, layout = result(workspace)
    spoil(computed, layout)

    found, expected = verdicts(workspace, computed)

    assert found.fault
    assert found == expected


def test_the_largest_error_is_the_one_that_is_told(device: Device, prepare: Prepare) -> None:
    workspace = Workspace.make(device, made(Precision.SINGLE), 0, prepare=prepare)
    computed, layout = result(workspace)
    layout.elements(computed)[3, 2, 1] *= 1 + 1e-6

    found, expected = verdicts(workspace, computed)

    assert found.fault == ""
    assert found.max_error == pytest.approx(expected.max_error)
    assert found.error_bound == pytest.approx(expected.error_bound)


def test_every_single_element_counts(device: Device, prepare: Prepare) -> None:
    problem = replace(made(Precision.SINGLE), beta=0.0)
    workspace = Workspace.make(device, problem, 0, prepare=prepare)
    computed, layout = result(workspace)
    elements = layout.elements(computed)
    for place in np.ndindex(elements.shape):
        right = elements[place]
        elements[place] = right + np.float32(1e-3)
        workspace.device.write(workspace.c, computed)

        assert workspace.on_device is not None
        assert workspace.on_device.run(workspace.c).wrong == 1
        elements[place] = right


def test_a_kernel_that_writes_its_own_result_over_the_reference_is_found(
    device: Device,
) -> None:
    workspace = Workspace.make(device, made(Precision.SINGLE), 0, prepare=prepare_on_device)
    right = workspace.right
    assert isinstance(right, DeviceReference)
    computed, layout = result(workspace)
    layout.elements(computed)[1, 2, 0] += 1
    wrong = right.values.copy()
    wrong[1, 2, 0] += 1
    device.write(right.whole, wrong.ravel(order="F"))

    device.write(workspace.c, computed)

    assert workspace.check().fault == "the reference in the device's memory was written"


@pytest.mark.parametrize("part", range(3))
def test_every_part_of_the_reference_is_watched(device: Device, part: int) -> None:
    workspace = Workspace.make(device, made(Precision.SINGLE), 0, prepare=prepare_on_device)
    right = workspace.right
    assert isinstance(right, DeviceReference)
    assert right.untouched()

    device.write(right.parts[part], np.full(1, 1e3))

    assert not right.untouched()
