"""The selection code of packs stays below 64 KB for a problem type."""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path

import pytest

from mltune.selector.pack import packs
from mltune.workflow.export import export_selectors

pytestmark = pytest.mark.long

MOST_BYTES = 64 * 1024


@pytest.mark.skipif(
    platform.machine() != "x86_64" or not (shutil.which("gcc") and shutil.which("size")),
    reason="sizes are those of gcc on x86-64",
)
@pytest.mark.parametrize("pack", packs(), ids=lambda pack: "/".join(pack.parts[-2:]))
def test_the_code_of_a_pack_is_small(pack: Path, tmp_path: Path) -> None:
    export_selectors([pack], "c", tmp_path)
    (source,) = tmp_path.glob("*_select.c")
    # With -O1 it takes half of the time; code with -O2 is smaller, or at most 2 % larger.
    assert size(source, "-O1") <= 0.97 * MOST_BYTES or size(source, "-O2") <= MOST_BYTES


def size(source: Path, option: str) -> int:
    """The bytes of the code and the data of a C file."""
    compiled = source.with_suffix(".o")
    subprocess.run(["gcc", "-std=c99", option, "-c", source, "-o", compiled], check=True)
    table = subprocess.run(["size", compiled], check=True, capture_output=True, text=True).stdout
    code, data, *_ = table.splitlines()[1].split()
    return int(code) + int(data)
