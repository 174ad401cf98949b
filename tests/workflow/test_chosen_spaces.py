"""The spaces of `auto`, by device and problem."""

from __future__ import annotations

import logging
import re
from dataclasses import replace
from pathlib import Path

import pytest

from mltune.device_info import DeviceInfo, Probed
from mltune.errors import UsageError
from mltune.problem import parse_problem_type
from mltune.resources import data_folder
from mltune.space.union import UnionSpace
from mltune.workflow.chosen_spaces import check_spaces, choose_spaces
from tests import devices
from tests.quick import QUICK_SPACE

HOPPER = replace(devices.GPU, compute_capability=90)
WAVES_OF_64 = replace(devices.GPU, wave_size=64, compute_capability=0)
INTEGRATED = replace(
    WAVES_OF_64, wave_size=16, probed=Probed(sub_group_size=16, sub_group_sizes=56)
)
EVERYWHERE = {"tiled-gpu", "direct", "small", "thin", "dots"}


@pytest.fixture(autouse=True)
def without_the_largest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out spaces that take seconds to open."""
    names = {
        "cpu": ("packed-cpu", "direct", "tiled-cpu", "small"),
        "gpu": (
            *("wgmma-nvidia", "wgmma-single-nvidia", "wgmma-halves-nvidia"),
            *("mma-nvidia", "mma-double-nvidia", "mma-skinny-nvidia"),
            *("tiled-large-nvidia", "tiled-gpu", "direct", "sub-groups", "small", "thin"),
            "dots",
        ),
    }
    monkeypatch.setattr("mltune.workflow.chosen_spaces.AUTO_SPACES", names)


@pytest.mark.parametrize("problem", ["sgemm_nn", "hgemm_nn", "dgemm_nn"])
def test_spaces_of_a_gpu_are_one_union(problem: str) -> None:
    spaces = choose_spaces(("auto",), HOPPER, parse_problem_type(problem)).values()

    assert UnionSpace("auto", list(spaces)).size > sum(space.size for space in spaces) / 2


@pytest.mark.parametrize(
    ("device", "problem", "names"),
    [
        (devices.CPU, "sgemm_nn", {"packed-cpu", "direct", "tiled-cpu", "small"}),
        (devices.CPU, "dgemm_tt", {"packed-cpu", "direct", "tiled-cpu", "small"}),
        (
            HOPPER,
            "sgemm_nt",
            EVERYWHERE
            | {"wgmma-single-nvidia", "wgmma-halves-nvidia"}
            | {"mma-nvidia", "mma-skinny-nvidia", "tiled-large-nvidia"},
        ),
        (
            HOPPER,
            "hgemm_nn",
            EVERYWHERE | {"wgmma-nvidia", "mma-nvidia", "mma-skinny-nvidia", "tiled-large-nvidia"},
        ),
        (
            HOPPER,
            "dgemm_nn",
            EVERYWHERE
            | {"mma-nvidia", "mma-double-nvidia", "mma-skinny-nvidia", "tiled-large-nvidia"},
        ),
        (HOPPER, "cgemm_nc", EVERYWHERE | {"tiled-large-nvidia"}),
        (WAVES_OF_64, "sgemm_nn", EVERYWHERE | {"tiled-large-nvidia"}),
        (INTEGRATED, "sgemm_nn", EVERYWHERE | {"tiled-large-nvidia", "sub-groups"}),
    ],
)
def test_auto_is_what_device_and_problem_allow(
    device: DeviceInfo, problem: str, names: set[str]
) -> None:
    chosen = choose_spaces(("auto",), device, parse_problem_type(problem))

    assert {space.name.removesuffix(".yaml") for space in chosen} == names
    assert all(space.family == bound.family for space, bound in chosen.items())


def test_what_is_left_out_is_logged_with_the_reason(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        choose_spaces(("auto",), WAVES_OF_64, parse_problem_type("sgemm_nn"))

    assert "left out mma-nvidia: " in caplog.text
    assert "constraint 'tensor_cores'" in caplog.text


def test_a_space_that_is_named_has_to_fit() -> None:
    with pytest.raises(UsageError, match="constraint 'tensor_cores': the space is empty"):
        choose_spaces(("direct", "mma-nvidia"), WAVES_OF_64, parse_problem_type("sgemm_nn"))


def test_files_stand_beside_names_and_a_text_counts_once(tmp_path: Path) -> None:
    mine, same = tmp_path / "mine.yaml", tmp_path / "same.yaml"
    mine.write_text(QUICK_SPACE)
    same.write_text(QUICK_SPACE)
    names = (str(mine), "auto", str(same), "direct")
    chosen = choose_spaces(names, devices.CPU, parse_problem_type("sgemm_nn"))

    assert [space.name for space in chosen] == [
        str(mine), "packed-cpu.yaml", "direct.yaml", "tiled-cpu.yaml", "small.yaml",
    ]  # fmt: skip


def test_a_wrong_file_is_told_before_a_device_is_opened(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(QUICK_SPACE.replace("family: tiled", "family: woven"))

    check_spaces(("auto", "direct"))
    with pytest.raises(UsageError, match="unknown kernel family 'woven'"):
        check_spaces(("auto", str(wrong)))


assert HOPPER.opencl is not None
H200 = replace(
    HOPPER,
    opencl=replace(
        HOPPER.opencl,
        extensions=("cl_khr_fp64", "cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics"),
    ),
)
PROBLEMS = {
    "mma-double-nvidia": "dgemm_nn",
    "wgmma-nvidia": "hgemm_nn",
    "wgmma-rounded-nvidia": "sgemm_nn_tf32",
}


def _rounded(count: int) -> str:
    if count >= 10**10:
        return f"{count / 1e9:.0f} thousand million"
    return f"{count / 1e6:.1f} million" if count >= 10**6 else f"{count / 1e3:.0f} thousand"


def test_the_spaces_have_the_configs_that_their_readme_states() -> None:
    readme = (data_folder("spaces") / "README.md").read_text(encoding="utf-8")
    stated = dict(re.findall(r"^\| `(.+)\.yaml` \| (.+?) \|", readme, re.M))
    counted = {}
    for name, cell in stated.items():
        if cell != "-":
            device = replace(H200, local_mem_bytes=2**20) if name == "packed-cpu" else H200
            problem = parse_problem_type(PROBLEMS.get(name, "sgemm_nn"))
            (space,) = choose_spaces((name,), device, problem).values()
            counted[name] = _rounded(space.size)

    assert {name: re.split(r" \(| with", stated[name])[0] for name in counted} == counted
