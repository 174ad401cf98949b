"""The examples of the pages work exactly as printed: a kernel family and a hand-written kernel."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mltune.cli import main
from mltune.measurement import Status
from mltune.run.run import Run
from tests.docs.test_blocks import ROOT

QUICK = ("--samples", "1", "--builders", "0", "--no-compare", "--quiet")
LINES = {
    "mltune/kernel/parameters/declared.py": ("WGMMA, PACKED", "WGMMA, PLAIN, PACKED"),
    "mltune/kernel/families.py": (
        "        TiledFamily(),",
        "        TiledFamily(), PlainFamily(),",
    ),
    "mltune/space/shipped.py": ('"packed-cpu",', '"packed-cpu", "plain",'),
}
"""The lines that the developer's guide adds to files, and where."""
IMPORTS = {
    "mltune/kernel/parameters/declared.py": "from mltune.kernel.parameters.plain import PLAIN\n",
    "mltune/kernel/families.py": "from mltune.kernel.plain.family import PlainFamily\n",
}


def blocks_of(page: str) -> list[str]:
    """The files that a page of docs/ shows, in its order."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return re.findall(r"^```(?:c|json|python|yaml)\n(.*?)^```", text, re.M | re.S)


@pytest.mark.device
def test_the_kernel_of_the_page_on_handwritten_kernels_is_right(
    tmp_path: Path, device_spec: str
) -> None:
    source, description = blocks_of("handwritten.md")
    (tmp_path / "mine.cl").write_text(source)
    (tmp_path / "mine.json").write_text(description)
    folder = tmp_path / "run"
    asked = ("--kernels", str(tmp_path / "mine.json"), "--sizes", "64x32x20,16x16x16")

    assert main(["search", *asked, "--device", device_spec, "--run", str(folder), *QUICK]) == 0
    with Run.open(folder) as run:
        rows = run.store.measurements()
    assert {(row.config["work_group_0"], row.status) for row in rows} == {
        (8, Status.OK),
        (16, Status.OK),
    }


@pytest.fixture
def with_plain(tmp_path: Path) -> Path:
    """The package with the family of the developer's guide, added as the guide says."""
    for name in ("mltune", "spaces", "models"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("*.pyc.*"))
    folder = tmp_path / "mltune" / "kernel" / "plain"
    folder.mkdir()
    parameters, template, family, space = blocks_of("developing.md")
    (tmp_path / "mltune" / "kernel" / "parameters" / "plain.py").write_text(parameters)
    (folder / "__init__.py").touch()
    (folder / "kernel.cl").write_text(template)
    (folder / "family.py").write_text(family)
    (tmp_path / "spaces" / "plain.yaml").write_text(space)
    for name, (there, added) in LINES.items():
        file = tmp_path / name
        text = file.read_text(encoding="utf-8")
        assert text.count(there) == 1
        text = text.replace(there, added)
        file.write_text(
            text.replace("\nfrom mltune.", f"\n{IMPORTS.get(name, '')}from mltune.", 1)
        )
    return tmp_path


@pytest.mark.device
def test_the_family_of_the_developers_guide_is_searched_and_exported(
    with_plain: Path, device_spec: str
) -> None:
    environment = {**os.environ, "PYTHONPATH": str(with_plain)}

    def mltune(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "mltune", *words],
            cwd=with_plain, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    sizes = ("--sizes", "48x48x48,33x21x65", "--cross-sizes", "none", "--budget", "3")
    device = ("--device", device_spec, "--run", "run")
    mltune("search", "--space", "plain", *sizes, *device, *QUICK)
    mltune("distil", "run", "-o", "mine", "--method", "formulas", "--quiet")
    mltune("export", "mine", "--lang", "c", "-o", "library", "--quiet")

    with Run.open(with_plain / "run") as run:
        rows = run.store.measurements()
    assert {(row.family, row.status) for row in rows} == {("plain", Status.OK)}
    assert "to_i" in (with_plain / "library" / "mltune_sgemm_nn_kernels.c").read_text()
