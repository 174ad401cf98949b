"""A program that calls CLBlast runs on tuned kernels, with the commands of the page."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mltune.export import SET_WRITERS
from tests.pocl import pocl_driver

if TYPE_CHECKING:
    from tests.cli.conftest import Command

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(sys.platform != "linux", reason="needs LD_PRELOAD"),
    pytest.mark.skipif("clblast" not in SET_WRITERS, reason="needs --lang clblast"),
]

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "tune.md"
SHORT = "./train 32 64 5"


@pytest.fixture
def lines() -> list[str]:
    """The commands of the page, with a shorter training."""
    for tool in ("c++", "make"):
        if shutil.which(tool) is None:
            pytest.skip(f"needs {tool}")
    blocks = re.findall(r"^```sh\n(.*?)^```", PAGE.read_text("utf-8"), re.M | re.S)
    (block,) = (block for block in blocks if "train.cpp" in block)
    return [
        line.replace("./train", SHORT).replace("docs/examples", str(ROOT / "docs" / "examples"))
        for line in block.splitlines()
    ]


@pytest.fixture
def drivers(tmp_path: Path) -> dict[str, str]:
    """A folder that makes the system's loader find one PoCL only."""
    found = pocl_driver()
    if found is None:
        pytest.skip("needs PoCL")
    (tmp_path / "drivers").mkdir()
    named = found.read_text() if found.suffix == ".icd" else f"{found}\n"
    (tmp_path / "drivers" / "pocl.icd").write_text(named)
    return {"OCL_ICD_VENDORS": str(tmp_path / "drivers")}


def test_a_program_is_traced_tuned_for_and_run_on_tuned_kernels(
    mltune_process: Command,
    lines: list[str],
    drivers: dict[str, str],
    quick_space: Path,
    device_spec: str,
    tmp_path: Path,
) -> None:
    def shell(line: str) -> tuple[str, str]:
        done = subprocess.run(
            line, shell=True, cwd=tmp_path, env=os.environ | drivers, capture_output=True,
            text=True, check=False,
        )  # fmt: skip
        if "clblast.h: No such file" in done.stderr:
            pytest.skip("needs CLBlast's headers (Debian: libclblast-dev)")
        assert done.returncode == 0, f"{line}: {done.stderr}"
        return done.stdout, done.stderr

    build, trace, tune, make, run = lines
    shell(build)
    traced = mltune_process(*shlex.split(trace)[1:], environment=drivers)
    assert traced.code == 0, traced
    assert "sgemm_nt  64x64x32" in traced.out
    quick = ("--space", quick_space, "--device", device_spec, "--time", "4s")
    tuned = mltune_process(*shlex.split(tune)[1:], *quick)
    assert tuned.code == 0, tuned.err
    assert f"next: {make} && {run.split()[0]} PROGRAM" in tuned.out.splitlines()
    shell(make)
    after, said = shell(run)

    assert after.splitlines()[0] == traced.out.splitlines()[0]
    assert after.startswith("loss 74.12, then ")
    assert re.search(r"\b114 calls of GEMM had tuned kernels, 0 CLBlast's", said), said
