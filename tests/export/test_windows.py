"""Exported C for Windows: accepted by its compilers, and uses only its C library."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

EXPORTS = Path(__file__).parent.parent / "golden/export"
HEADERS = Path(__file__).parent / "windows"
OPENCL = Path("/usr/include/CL")
RULES = (
    "--target=x86_64-pc-windows-msvc", "-fms-extensions", "-fms-compatibility",
    "-fms-compatibility-version=19.38", "-ffreestanding", "-nostdlibinc", "-std=c11", "-Wall",
    "-Wextra", "-Werror", "-fsyntax-only", "-DCL_TARGET_OPENCL_VERSION=120",
)  # fmt: skip


@pytest.mark.parametrize("export", ["c", "c-full", "c-set"])
def test_exported_c_goes_by_the_rules_of_windows_compilers(export: str, tmp_path: Path) -> None:
    clang = shutil.which("clang")
    if clang is None or not OPENCL.exists():
        pytest.skip("there is no clang, or no header of OpenCL")
    # a copy, as the other headers in that folder are not for Windows
    shutil.copytree(OPENCL, tmp_path / "CL")
    for file in sorted((EXPORTS / export).glob("*.c")):
        folders = ("-isystem", str(HEADERS), "-isystem", str(tmp_path))
        command = [clang, *RULES, *folders, str(file)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), file.name
