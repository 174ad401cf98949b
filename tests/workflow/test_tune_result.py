from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mltune.workflow.tune_result import Written


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
