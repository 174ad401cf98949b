"""Records that other tuners wrote, read as recordings.

The readers need none of the tuners. A new format is a new file and one line in `READERS`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from mltune.errors import UsageError
from mltune.record.foreign import kernel_tuner, t4
from mltune.record.foreign.document import Document, read_document
from mltune.record.foreign.rows import Row, to_points
from mltune.record.foreign.text import read_text
from mltune.record.recording import Recording

READERS: dict[str, Callable[[Document], list[Row | str]]] = {
    "cache": kernel_tuner.read_rows,
    "results": t4.read_rows,
}
"""The member that holds a file's rows tells the format."""


def read_recording(path: Path) -> Recording:
    """Read a Kernel Tuner cache or a T4 results file, gzipped or plain.

    What can be read is kept: a torn end and wrong rows are named in the recording's notes.

    Raises:
        UsageError: when the file cannot be read, is none of these, or holds no usable row.
    """
    text, torn = read_text(path)
    try:
        document = read_document(text, tuple(READERS))
        points, dropped = to_points(READERS[document.rows_name](document))
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error
    notes = [f"{path}: {note}" for note in (torn or document.damage, dropped) if note]
    return Recording(
        where=str(path),
        problem=document.text("kernel_name"),
        device=document.text("device_name"),
        points=points,
        notes=tuple(notes),
    )
