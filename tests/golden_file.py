"""Golden files: committed texts, which what is written today must equal."""

import os
from pathlib import Path

_FOLDER = Path(__file__).parent / "golden"


def golden(name: str, written: str) -> str:
    """Return a file's text; with MLTUNE_UPDATE_GOLDEN=1, write what is written today first."""
    if os.environ.get("MLTUNE_UPDATE_GOLDEN") == "1":
        (_FOLDER / name).write_text(written, encoding="utf-8")
    return (_FOLDER / name).read_text(encoding="utf-8")
