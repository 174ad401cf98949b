from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from mltune.problem import gemm
from mltune.problem.precision import Precision
from mltune.workflow.tune import plan_lines
from mltune.workflow.tune_plan import Part
from mltune.workflow.tune_result import TuneResult, Written
from mltune.workflow.tune_state import Searched, TuneState
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


def test_the_gain_of_more_trials_is_weighted_by_the_shares_of_the_problem_types() -> None:
    parts = (replace(STATE.parts[0], share=0.75), replace(STATE.parts[1], share=0.25))

    def gain(*of_each: float | None) -> float | None:
        searched = tuple(Searched(ahead_gain=each) for each in of_each)
        state = replace(STATE, parts=parts, searched=searched)
        return TuneResult(folder=Path("tuned"), state=state, device=CPU).ahead_gain

    assert gain(0.08, 0.04) == pytest.approx(0.07)
    assert gain(None, 0.04) == pytest.approx(0.04)
    assert gain(None, None) is None


def test_a_notebook_shows_one_line() -> None:
    assert repr(TuneResult(folder=Path("tuned"), state=STATE, device=CPU)) == (
        f"<TuneResult on {CPU.name}: 0 problem types, tuned>"
    )
