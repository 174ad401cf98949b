from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.tree import DecisionTreeClassifier

from mltune.run.run import Run


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
    (folder / "report.html").mkdir()  # fails like a read-only folder, but for root, too
    done = mltune("report", folder)

    assert done.code == 2
    assert done.err == (
        f"mltune: {folder}/report.html: cannot write (Is a directory); "
        "give a file elsewhere with -o\n"
    )


def test_no_run_is_one_line(mltune: Callable[..., Any], tmp_path: Path) -> None:
    done = mltune("report", tmp_path / "none")

    assert (done.code, done.err) == (2, f"mltune: {tmp_path}/none: no such run folder\n")


def test_an_unchanged_run_is_fitted_once(
    mltune: Callable[..., Any],
    finished_run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MLTUNE_CACHE_DIR", str(tmp_path / "cache"))
    folder = tmp_path / "run"
    shutil.copytree(finished_run, folder)
    first = mltune("report", folder)
    page = (folder / "report.html").read_bytes()
    fits = Fits(monkeypatch, tmp_path)

    assert mltune("report", folder).out == first.out
    assert (folder / "report.html").read_bytes() == page
    assert mltune("distil", folder, "-o", tmp_path / "model").code == 0
    assert fits.count == 0
    with Run.resume(folder) as run:
        run.database.add(replace(run.store.measurements()[0], trial=99))
    assert mltune("report", folder).code == 0
    assert fits.count > 0
    assert (folder / "report.html").read_bytes() != page


def test_an_unchanged_run_is_distilled_once(
    mltune: Callable[..., Any],
    finished_run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MLTUNE_CACHE_DIR", str(tmp_path / "cache"))
    command = ("distil", finished_run, "--max-kernels", "3", "-o")
    first = mltune(*command, tmp_path / "first.json")
    fits = Fits(monkeypatch, tmp_path)
    second = mltune(*command, tmp_path / "second.json")

    assert second.out.replace("second", "first") == first.out
    assert (tmp_path / "second.json").read_bytes() == (tmp_path / "first.json").read_bytes()
    assert fits.count == 0
    assert mltune("distil", finished_run, "-o", tmp_path / "third.json").code == 0
    assert fits.count > 0


class Fits:
    """Counts the trees and forests that are grown, including those in copies of this process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self._grown = folder / "grown"
        self._grown.touch()
        for kind in (DecisionTreeClassifier, HistGradientBoostingRegressor):
            monkeypatch.setattr(kind, "fit", self._counted(kind.fit))

    @property
    def count(self) -> int:
        return self._grown.stat().st_size

    def _counted(self, fit: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any, **kwargs: Any) -> Any:
            with self._grown.open("ab") as file:
                file.write(b".")
            return fit(*args, **kwargs)

        return counted
