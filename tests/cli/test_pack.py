"""`mltune pack`: build, verify, list."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mltune.problem import parse_problem_type
from mltune.runtime.loading import load
from mltune.runtime.tuned_gemm import TunedGemm
from mltune.selector.json import write_selector
from mltune.selector.pack import SELECTOR_NAME
from mltune.selector.speeds import Speed, read_speeds, write_speeds
from tests.runtime.test_tuned_gemm import selector_for

if TYPE_CHECKING:
    from tests.cli.conftest import Command


def test_packs_are_built_from_runs_verified_and_listed(
    mltune: Command, finished_run: Path, device_spec: str, tmp_path: Path
) -> None:
    built = mltune("pack", "build", finished_run, "-o", tmp_path, "--json").json["packs"]
    pack = Path(built[0]["selector"]).parent

    assert len(built) == 1
    assert (pack.parent.parent, pack.name) == (tmp_path, "sgemm_nn")
    files = {"selector.json", "speeds.json", "model.json", "README.md"}
    assert files <= {file.name for file in pack.iterdir()}
    speeds = read_speeds(pack)
    assert len(speeds) == 3
    assert f"expects: {speeds[0].label} in " in (pack / "README.md").read_text()

    # passes whatever else runs here
    write_speeds([Speed(each.size, 1.0) for each in speeds], pack)
    verified = mltune("pack", "verify", pack, "--device", device_spec)
    assert verified.code == 0, verified.err
    first, header, *rows = verified.out.splitlines()
    assert "kernels right" in first
    assert header.split() == ["size", "stated", "ms", "here", "ms"]
    assert [row.split()[0] for row in rows] == [each.label for each in speeds]

    write_speeds([Speed(speeds[0].size, 1e-9)], pack)
    slow = mltune("pack", "verify", pack, "--device", device_spec, "--json")
    assert slow.code == 1
    assert slow.json["packs"][0]["right"] is False
    assert "takes" in slow.err

    (listed,) = mltune("pack", "list", pack, "--device", device_spec, "--json").json["packs"]
    assert (listed["name"], listed["lacks"]) == (f"{pack.parent.name}/sgemm_nn", "")
    assert listed["runs"] == listed["kernels"]


def test_a_pack_with_an_epilogue_is_verified_without_times(
    mltune: Command, device_spec: str, tmp_path: Path
) -> None:
    write_selector(selector_for(parse_problem_type("sgemm_nn_bias_m")), tmp_path / SELECTOR_NAME)
    write_speeds([Speed((64, 64, 64, 1), 1.0)], tmp_path)

    verified = mltune("pack", "verify", tmp_path, "--device", device_spec)

    assert verified.code == 0, verified.err
    assert "5 of 5 kernels right" in verified.out


def test_what_tune_wrote_is_a_folder_of_runs(
    mltune: Command, finished_run: Path, tmp_path: Path
) -> None:
    (tmp_path / "tuned" / "runs").mkdir(parents=True)
    (tmp_path / "tuned" / "runs" / "sgemm_nn").symlink_to(finished_run)

    built = mltune("pack", "build", tmp_path / "tuned", "-o", tmp_path / "packs")

    assert built.code == 0, built.err
    assert built.out.splitlines()[-1].startswith(f"next: mltune pack verify {tmp_path}/packs/")


def test_packs_that_ship_are_listed_with_what_a_device_lacks(
    mltune: Command, device_spec: str
) -> None:
    listed = mltune("pack", "list", "--device", device_spec).out

    pack = "nvidia-h100-80gb-hbm3/hgemm_nt"
    (line,) = [each for each in listed.splitlines() if each.startswith(pack)]
    assert "PTX instructions of NVIDIA GPUs" in listed
    assert " 0 " in line


def test_the_kernels_of_an_unchanged_pack_are_not_written_again_to_list_it(
    mltune: Command, device_spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLTUNE_CACHE_DIR", str(tmp_path / "cache"))
    loaded: list[Path] = []

    def counted(file: Path, **given: Any) -> TunedGemm:
        loaded.append(file)
        return load(file, **given)

    monkeypatch.setattr("mltune.workflow.pack.load", counted)
    pack = tmp_path / SELECTOR_NAME
    listed = []
    for problem in ("sgemm_nn", "sgemm_nn", "dgemm_nn"):
        write_selector(selector_for(parse_problem_type(problem)), pack)
        listed.append(mltune("pack", "list", tmp_path, "--device", device_spec).out)

    assert loaded == [pack, pack]
    assert listed[0] == listed[1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("build",), "pack build: needs run folders, or what mltune tune wrote"),
        (("build", "x", "--device", "cpu"), "--device: cannot go with pack build"),
        (("list", "--seed", "1"), "--seed: cannot go with pack list"),
        (("build", "none"), "none: holds no run, and is no folder of `mltune tune`"),
        (
            ("verify", "x/zgemm"),
            "x/zgemm: no such folder, and no such pack (devices with packs: nvidia",
        ),
        (("drop",), "pack: unknown ACTION 'drop', known: build, verify, list (see"),
    ],
)
def test_mistakes_are_one_line(words: tuple[str, ...], message: str, mltune: Command) -> None:
    said = mltune("pack", *words)

    assert said.code == 2
    assert said.err.startswith(f"mltune: {message}"), said.err
    assert said.err.count("\n") == 1
