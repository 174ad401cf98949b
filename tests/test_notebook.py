"""The notebook of the docs runs from start to end, and its stored outputs are right.

`MLTUNE_UPDATE_NOTEBOOK=1 pytest tests/test_notebook.py` writes its outputs again.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

pytestmark = pytest.mark.device

NOTEBOOK = Path(__file__).parents[1] / "docs" / "first-search.ipynb"
MAX_PICTURE_BYTES = 30_000
UPDATES = bool(os.environ.get("MLTUNE_UPDATE_NOTEBOOK"))


# nbformat has no annotations.
write: Callable[[Any], str] = nbformat.writes
read: Callable[[Path], Any] = partial(nbformat.read, as_version=4)


def outputs(notebook: Any) -> list[Any]:
    return [out for cell in notebook.cells for out in cell.get("outputs", [])]


def without_noise(notebook: Any) -> Any:
    """Leave out progress bars, and everything that differs between executions."""
    for cell in notebook.cells:
        cell.metadata = {}
        if cell.cell_type == "code":
            cell.outputs = [
                out
                for out in cell.outputs
                if out.output_type != "stream" and "widget" not in str(out.get("data", {}).keys())
            ]
    notebook.metadata.language_info = {"name": "python"}
    return notebook


def test_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # the notebook's own folder goes there
    notebook = read(NOTEBOOK)
    before = [cell.source for cell in notebook.cells]
    if not UPDATES:
        for cell in notebook.cells:
            cell.source = cell.source.replace("n_trials=24", "n_trials=8")

    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": tmp_path}}).execute()

    said = [out.data["text/plain"] for out in outputs(notebook) if "data" in out]
    assert float(said[-2]) < 1e-3  # the largest error of the product
    assert "report.html" in said[-1]
    if UPDATES:
        NOTEBOOK.write_text(write(without_noise(notebook)) + "\n", encoding="utf-8")
    assert [cell.source for cell in read(NOTEBOOK).cells] == before


def test_the_committed_notebook_was_executed_and_is_small() -> None:
    notebook = read(NOTEBOOK)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    found = outputs(notebook)
    pictures = [out.data["image/png"] for out in found if "image/png" in out.get("data", {})]

    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert {out.output_type for out in found} <= {"execute_result", "display_data"}
    assert [len(base64.b64decode(one)) < MAX_PICTURE_BYTES for one in pictures] == [True]
    assert not re.search(r"/home/|/work/|/root/|Traceback", NOTEBOOK.read_text(encoding="utf-8"))
