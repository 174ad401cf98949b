"""Waits for a search in another process."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest

from tests.patience import PATIENCE_SECONDS


def wait_for_rows(folder: Path, rows: int) -> None:
    """Return when a run has at least `rows` measurements.

    SQLite itself counts them: to open a `Run` again and again would take a core from the search,
    which on a busy machine could end first.
    """
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        with (
            suppress(sqlite3.OperationalError),  # no file, or no table yet
            closing(sqlite3.connect(f"file:{folder / 'run.db'}?mode=ro", uri=True)) as database,
        ):
            (count,) = database.execute("SELECT count(*) FROM mltune_measurements").fetchone()
            if count >= rows:
                return
        time.sleep(0.05)
    pytest.fail("the search does not begin")
