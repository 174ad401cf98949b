"""`mltune compare`: a table of kernels, or of sizes when kernels are many."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Command


def test_few_kernels_have_a_row_each(mltune: Command, finished_run: Path) -> None:
    shown = mltune("compare", finished_run, finished_run)
    document = mltune("compare", finished_run, finished_run, "--json").json
    rows = document["rows"]

    assert shown.code == 0
    assert [(run["alpha"], run["beta"]) for run in document["runs"]] == [(1.0, 0.0)] * 2
    assert sum(line.startswith("33x17x9 ") for line in shown.out.splitlines()) == sum(
        row["sizes"][:3] == [33, 17, 9] for row in rows
    )
    assert "every kernel: Cij Aik Bkj SB" in shown.out


def test_many_kernels_have_a_row_for_each_size(
    mltune: Command, finished_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mltune.cli.compare._MOST_ROWS", 4)
    lines = mltune("compare", finished_run, finished_run).out.splitlines()
    (row,) = (line.split() for line in lines if line.startswith("33x17x9 "))

    assert row[2] == row[3]
    assert row[4] == "1.000"
    assert "rows: --json" in lines[-2]
