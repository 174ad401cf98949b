"""A stranger's bundle from import to exported code: the name of its device stays text."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mltune.run.bundle import write_bundle
from mltune.run.run import Run
from tests.cli.conftest import Command

ENDS_A_DOCSTRING = '""""";open("PWNED","w").write("x");"""""'
ENDS_A_COMMENT = "*\\\nint pwned = 1; /*"


@pytest.mark.parametrize("name", [ENDS_A_DOCSTRING, ENDS_A_COMMENT])
def test_a_device_s_name_runs_nothing(
    name: str, mltune: Command, finished_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Run.open(finished_run) as run:
        write_bundle(run, "CC0", tmp_path / "b.json.gz")
    document = json.loads(gzip.decompress((tmp_path / "b.json.gz").read_bytes()))
    document["run"]["device"]["name"] = name.replace("\n", "")
    document["run"]["mltune_version"] = name.replace("\n", "")
    (tmp_path / "b.json.gz").write_bytes(gzip.compress(json.dumps(document).encode()))
    monkeypatch.chdir(tmp_path)

    assert mltune("import", "b.json.gz", "-o", "runs").code == 0
    assert mltune("distil", "runs/b", "-o", "selector.json").code == 0
    for language in ("c", "python"):
        assert mltune("export", "selector.json", "--lang", language, "-o", language).code == 0

    package = next(Path("python").glob("mltune_*"))
    done = subprocess.run(
        [sys.executable, "-c", f"import {package.name}.selection"],
        cwd="python", capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert not list(tmp_path.rglob("PWNED"))
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is not None:
        chooser = next(Path("c").glob("*_select.c"))
        command = [compiler, "-std=c99", "-Wall", "-Werror", "-E", "-P", str(chooser)]
        seen = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert "pwned" not in seen.lower()
