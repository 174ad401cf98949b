"""A hash of a run folder's content: equal as long as nothing was measured or changed."""

from __future__ import annotations

import hashlib
from pathlib import Path

from mltune.reading import read_bytes
from mltune.run.database import DATABASE_NAME
from mltune.run.run import INFO_NAME, TABLE_NAME, Run, read_info


def digest(folder: Path) -> str:
    """Hash the options and the measurements of a run.

    Raises:
        UsageError: when it is no run folder, or cannot be read.
    """
    info = read_info(folder)
    content = hashlib.sha256(read_bytes(folder / INFO_NAME))
    table = folder / TABLE_NAME
    if not info.storage and not (folder / DATABASE_NAME).exists() and table.exists():
        content.update(read_bytes(table))
        return content.hexdigest()
    with Run.open(folder) as run:
        for row in run.database.rows():
            content.update(repr(sorted(row.items())).encode("utf-8", "replace"))
    return content.hexdigest()
