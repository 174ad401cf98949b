"""What lies at the top of the repository is meant to be there."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NAMES = {
    ".ci",
    ".gitignore",
    ".pre-commit-config.yaml",
    "CHANGELOG.md",
    "CITATION.cff",
    "CONTRIBUTING.md",
    "LICENSE",
    "README.md",
    "SECURITY.md",
    "docs",
    "mkdocs.yml",
    "mltune",
    "models",
    "pyproject.toml",
    "runs",
    "spaces",
    "tests",
}


@pytest.mark.skipif(
    shutil.which("git") is None or not (ROOT / ".git").exists(), reason="no git checkout"
)
def test_the_top_level_has_no_stray_files() -> None:
    listed = subprocess.run(
        ("git", "ls-files", "-z"), cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert {name.split("/")[0] for name in listed.stdout.split("\0") if name} == NAMES


def test_the_sdist_has_the_runs_that_tests_and_commands_take() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    included = settings["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    readers = [ROOT / "README.md", ROOT / "docs" / "tutorial.md", *ROOT.glob("tests/*/test_*.py")]
    named = {
        name
        for reader in (*readers, *ROOT.glob("tests/*.py"), *ROOT.glob("tests/*/conftest.py"))
        for name in re.findall(r"2026-\d\d-\d\d-[\w-]+", reader.read_text(encoding="utf-8"))
        if (ROOT / "runs" / name).exists()
    }

    assert {"2026-11-21-sgemm-nn-nvidia-h200", "2026-11-21-sgemm-nn-pocl"} <= named
    assert {f"/runs/{name}" for name in named} <= set(included)
