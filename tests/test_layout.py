"""What lies at the top of the repository is meant to be there."""

import shutil
import subprocess
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
