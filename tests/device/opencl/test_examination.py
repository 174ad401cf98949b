"""A device is tried out: a line names each missing feature, which is then not used."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyopencl as cl
import pytest

from mltune.device import DeviceEntry, choose, list_devices
from mltune.device.opencl import examination, probe
from mltune.device.opencl.examination import examined, with_answers
from mltune.device.opencl.listing import device_at
from mltune.device_info import Probed
from mltune.errors import NoDeviceError
from mltune.kernel.parameters.register_tile import DIRECT
from tests import devices

GPU = DeviceEntry("opencl", "0:0", replace(devices.GPU, fp16=True))
WORKS = {"works": True}
CLOCK = {"ratio": 1.0, "agrees": True, "step_ns": 32, "launch_ns": 9000, "uncertain_ns": 4000}
SOUND: dict[str, dict[str, Any]] = {
    "launch": WORKS,
    "clock": CLOCK,
    "compiling": {"at_launch": False, "hidden": False},
    "group": {"items": 1024, "is_flat": False},
    "local": {"nbytes": 49152, "count": 1},
    "double": WORKS,
    "half": WORKS,
    "atomics": WORKS,
    "sub_groups": {"size": 32, "sizes": 48},
    "fill": WORKS,
}


def test_a_sound_device_is_as_its_driver_states() -> None:
    found = with_answers(GPU, SOUND)

    assert replace(found.info, probed=None) == GPU.info
    assert found.info.probed == Probed(clock_step_ns=32, sub_group_size=32, sub_group_sizes=48)
    assert (found.problem, found.notes) == ("", ())


@pytest.mark.parametrize(
    ("step", "answer", "changes", "note"),
    [
        ("double", {"works": False}, {"fp64": False}, "double precision, which does not work"),
        ("half", {"error": "no half"}, {"fp16": False}, "half precision, .* (no half): it is not"),
        ("group", {"items": 256, "is_flat": False},
         {"max_work_group_size": 256, "max_work_item_sizes": (256, 256, 64)}, "of 256 work-items"),
        ("group", {"items": 1024, "is_flat": True},
         {"max_work_item_sizes": (1024, 1, 1)}, "two dimensions do not work"),
        ("local", {"nbytes": 24576, "count": 2}, {"local_mem_bytes": 24576}, "24576 work"),
        ("atomics", {"works": False}, {}, "64-bit atomics"),
    ],
)  # fmt: skip
def test_what_does_not_work_is_not_used_and_said(
    step: str, answer: dict[str, Any], changes: dict[str, Any], note: str
) -> None:
    found = with_answers(GPU, SOUND | {step: answer})

    for name, value in changes.items():
        assert getattr(found.info, name) == value
    (line,) = found.notes
    assert line.startswith(f"device 0:0 {GPU.info.name}: ")
    assert all(part in line for part in note.split(" .* "))


@pytest.mark.parametrize(
    ("ratio", "words"), [(0.0, "stands still"), (0.042, "is wrong"), (83.3, "is wrong")]
)
def test_where_the_clock_cannot_be_used_the_host_times(ratio: float, words: str) -> None:
    found = with_answers(GPU, SOUND | {"clock": CLOCK | {"ratio": ratio, "agrees": False}})

    assert found.info.probed
    assert (found.info.probed.launch_ns, found.info.probed.clock_step_ns) == (9000, 4000)
    assert f"clock {words}" in found.notes[0]
    assert "the host's clock, each launch to about 4 us" in found.notes[0]


@pytest.mark.parametrize("answers", [{}, {step: {"unknown": True} for step in SOUND}])
def test_what_has_no_answer_is_as_the_driver_states(answers: dict[str, dict[str, Any]]) -> None:
    found = with_answers(GPU, answers)

    assert replace(found.info, probed=None) == GPU.info
    assert found.notes == ()
    assert not found.problem


@pytest.mark.parametrize("answer", [{"error": "it ended its process"}, {"works": False}])
def test_a_driver_that_runs_nothing_is_a_problem(answer: dict[str, Any]) -> None:
    assert "its driver runs no kernel" in with_answers(GPU, SOUND | {"launch": answer}).problem


def test_an_old_pocl_says_what_to_install() -> None:
    pocl = DeviceEntry("opencl", "0:0", devices.CPU)

    problem = with_answers(
        pocl, {"launch": {"error": "error: unknown target CPU 'generic'"}}
    ).problem

    assert problem == (
        "its driver runs no kernel (error: unknown target CPU 'generic'): PoCL 3.0 does not know "
        "this processor; install another driver (Debian: pocl-opencl-icd)"
    )


@pytest.mark.parametrize(
    ("ratios", "is_sure"),
    [([1.0], False), ([0.5, 0.5], True), ([1.2, 1.21], True), ([1.4, 0.8, 1.1], False)],
)
def test_other_work_makes_no_clock_wrong(ratios: list[float], is_sure: bool) -> None:
    assert probe._is_sure(ratios) is is_sure


@pytest.mark.parametrize(
    ("firsts", "others", "compiles"),
    [
        ([0.08, 0.09, 0.08], [0.2, 0.001, 0.09], True),
        ([0.002, 0.09, 0.08], [0.001, 0.001, 0.001], False),
    ],
)
def test_other_work_makes_no_launch_compile_and_hides_none_that_does(
    firsts: list[float], others: list[float], compiles: bool
) -> None:
    assert probe._compiles([0.3, 0.4, 0.3], firsts, others) is compiles


@pytest.mark.device
def test_a_driver_without_times_has_a_clock_that_stands_still(
    device_spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: cl.Event) -> None:
        raise cl.RuntimeError("clGetEventProfilingInfo failed: PROFILING_INFO_NOT_AVAILABLE")

    monkeypatch.setattr(cl.Event, "profile", property(fails))
    monkeypatch.setattr(probe, "_LONG_SECONDS", 0.001)
    (clock,) = probe.answers(device_at(choose(device_spec).number), ["clock"])

    assert "stands still" in with_answers(GPU, SOUND | {"clock": clock}).notes[0]


def _run_of(
    *runs: tuple[list[str], bool],
) -> Callable[[str, Sequence[str]], tuple[list[str], bool]]:
    left = list(runs)
    return lambda number, steps: left.pop(0)


def _line(step: str, **answer: Any) -> str:
    return json.dumps({"step": step, **answer})


def test_a_step_that_ends_its_process_fails_and_the_others_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs = _run_of(([_line("launch", works=True), "not an answer"], True), ([_line("fill")], True))
    monkeypatch.setattr(examination, "_run", runs)

    found = examination._ask("0:0", ("launch", "group", "fill"))

    assert found == {"launch": WORKS, "group": {"error": "it ended its process"}, "fill": {}}


def test_a_step_that_never_ends_leaves_the_rest_to_the_driver(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(examination, "_run", _run_of(([_line("launch", works=True)], False)))

    found = examination._ask("0:0", ("launch", "group", "fill"))

    assert found == {"launch": WORKS, "group": {"unknown": True}, "fill": {"unknown": True}}


@pytest.mark.device
def test_pocl_is_tried_out_once_per_version(
    device_spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (entry,) = (each for each in list_devices() if each.info.platform == device_spec)
    monkeypatch.setenv(examination.VARIABLE, str(tmp_path))
    examined.cache_clear()

    first = examined(entry)
    examined.cache_clear()
    monkeypatch.setattr(subprocess, "Popen", None)
    second = examined(entry)

    assert first == second
    assert first.problem == ""
    assert first.info.probed
    assert first.info.probed.compiles_at_launch
    assert first.info.probed.fills
    assert len(list(tmp_path.glob("*.json"))) == 1


@pytest.mark.device
@pytest.mark.parametrize("text", ["", "{", '{"answers": {"launch": 1}}', '{"answers": []}'])
def test_a_damaged_file_is_replaced(
    text: str, device_spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (entry,) = (each for each in list_devices() if each.info.platform == device_spec)
    monkeypatch.setenv(examination.VARIABLE, str(tmp_path))
    monkeypatch.setattr(examination, "_ask", lambda *_: {"launch": WORKS})
    file = tmp_path / f"{examination._key(entry)}.json"
    file.write_text(text)
    examined.cache_clear()

    found = examined(entry)
    examined.cache_clear()

    assert found.problem == ""
    assert json.loads(file.read_text())["answers"] == {"launch": WORKS}


@pytest.mark.device
def test_a_driver_that_builds_nothing_is_refused_in_one_line(
    device_spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "Build on <device>:\n\nerror: unknown target CPU 'generic'\nDevice failed to build"

    def fails(*_: object, **__: object) -> None:
        raise cl.RuntimeError(said)

    def in_this_process(number: str, steps: Sequence[str]) -> tuple[list[str], bool]:
        return [json.dumps(each) for each in probe.answers(device_at(number), list(steps))], True

    monkeypatch.setenv(examination.VARIABLE, str(tmp_path))
    monkeypatch.setattr(examination, "_run", in_this_process)
    monkeypatch.setattr(cl.Program, "build", fails)
    examined.cache_clear()

    with pytest.raises(NoDeviceError) as raised:
        choose(device_spec)
    examined.cache_clear()

    assert "runs no kernel (error: unknown target CPU 'generic')" in str(raised.value)
    assert "\n" not in str(raised.value)
    assert not list(tmp_path.glob("*.json"))  # it may be repaired by the next time


def test_the_sub_groups_that_kernels_may_ask_for_are_tried() -> None:
    assert {0, *probe._SIZES} == set(DIRECT.by_name["sub_group_size"].values)
