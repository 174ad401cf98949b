from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mltune.problem import gemm
from mltune.problem.precision import Precision
from mltune.workflow.tune import plan_lines
from mltune.workflow.tune_plan import Part
from mltune.workflow.tune_result import TuneResult, Written
from mltune.workflow.tune_state import TuneState
from tests.devices import CPU

STATE = TuneState(
    seconds=60.0,
    device="auto",
    model=CPU.model,
    seed=0,
    spaces=("auto",),
    against=("numpy",),
    languages=("c", "python", "rust"),
    parts=tuple(Part(contraction=gemm(each)) for each in (Precision.SINGLE, Precision.HALF)),
)


@pytest.mark.skipif(
    sys.platform != "linux" or not shutil.which("make") or not shutil.which("cc"),
    reason="needs LD_PRELOAD, make and cc",
)
@pytest.mark.parametrize("name", ["plain", "a b", "a:b"])
def test_the_command_preloads_the_library_from_any_folder(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    (folder / "Makefile").write_text(
        "libmltune_clblast.so:\n\techo 'int it;' | $(CC) -shared -fPIC -o $@ -xc -\n"
    )
    (tmp_path / "elsewhere").mkdir()
    line = Written("clblast", folder).command
    program = "grep -q libmltune_clblast /proc/self/maps"

    done = subprocess.run(
        line.replace("PROGRAM", program),
        shell=True, cwd=tmp_path / "elsewhere", capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert (done.returncode, done.stderr) == (0, "")


def test_a_language_that_lacks_a_precision_is_named_in_the_plan() -> None:
    lines = plan_lines(STATE, CPU)

    assert [line for line in lines if "no library" in line] == [
        "  rust has no half precision: no library for hgemm_nn"
    ]


def test_each_language_has_one_command() -> None:
    folder = Path("tuned", "library")
    several = [folder / "python" / part.name for part in STATE.parts]
    written = (
        Written("c", folder / "c"),
        *(Written("python", each) for each in several),
        Written("rust", folder / "rust" / "sgemm_nn"),
    )
    result = TuneResult(
        folder=Path("tuned"),
        state=STATE,
        device=CPU,
        libraries=written,
        tuned=(object(),),  # type: ignore[arg-type]
    )

    assert [line for _, line in result.following][:-1] == [
        "make -C tuned/library/c",
        "pip install tuned/library/python/*/",
        "ls tuned/library/rust/sgemm_nn",
    ]


def test_a_notebook_shows_one_line() -> None:
    assert repr(TuneResult(folder=Path("tuned"), state=STATE, device=CPU)) == (
        f"<TuneResult on {CPU.name}: 0 problem types, tuned>"
    )
