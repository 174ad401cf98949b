from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any


def test_reports_a_searched_run(
    mltune: Callable[..., Any], finished_run: Path, tmp_path: Path
) -> None:
    path = tmp_path / "page.html"
    done = mltune("report", finished_run, "-o", path)

    assert done.code == 0
    assert done.out.startswith(f"report: {path} (")
    assert done.out.splitlines()[-1] == f"next: mltune distil {finished_run}"
    assert path.read_text().startswith("<!DOCTYPE html>")


def test_json_names_the_file_in_the_run_folder(
    mltune: Callable[..., Any], finished_run: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(finished_run, folder)
    done = mltune("report", folder, "--json")

    path = folder / "report.html"
    assert done.json == {"report": str(path), "bytes": path.stat().st_size}


def test_a_place_that_cannot_be_written_is_one_line(
    mltune: Callable[..., Any], finished_run: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(finished_run, folder)
    (folder / "report.html").mkdir()  # like a read-only folder, but root too is refused
    done = mltune("report", folder)

    assert done.code == 2
    assert done.err == (
        f"mltune: {folder}/report.html: cannot write (Is a directory); "
        "give a file elsewhere with -o\n"
    )


def test_no_run_is_one_line(mltune: Callable[..., Any], tmp_path: Path) -> None:
    done = mltune("report", tmp_path / "none")

    assert (done.code, done.err) == (2, f"mltune: {tmp_path}/none: no such run folder\n")
