"""Records of other tuners, read as recordings.

The readers need none of the tuners. A new format is a new file and one line in `READERS`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from mltune.compat.foreign import clblast, kernel_tuner, t4
from mltune.compat.foreign.document import Document, read_document
from mltune.compat.foreign.rows import Row, to_points
from mltune.compat.foreign.text import read_text
from mltune.errors import UsageError
from mltune.measurement.recording import Recording

Reader = Callable[[Document], list[Row | str]]

READERS: dict[str, tuple[str, Reader]] = {
    "Kernel Tuner cache": ("cache", kernel_tuner.read_rows),
    "CLBlast tuner JSON": ("results", clblast.read_rows),
    "T4 results": ("results", t4.read_rows),
}
"""The formats, each with the member of the JSON object that has the rows."""


def read_recording(path: Path) -> Recording:
    """Read a Kernel Tuner cache, T4 results or a CLBlast tuner's JSON, gzipped or plain.

    Everything readable is kept; the recording's notes name a truncated end and wrong rows.

    Raises:
        UsageError: when the file cannot be read, is none of these, or has no usable row.
    """
    text, torn = read_text(path)
    try:
        document = read_document(text, tuple(dict.fromkeys(rows for rows, _ in READERS.values())))
        _, read_rows = READERS[_form(document)]
        points, dropped = to_points(read_rows(document))
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error
    notes = [f"{path}: {note}" for note in (torn or document.damage, dropped) if note]
    return Recording(
        where=str(path),
        problem=document.text("kernel_name") or clblast.problem_of(document),
        device=document.text("device_name") or clblast.device_of(document),
        points=points,
        notes=tuple(notes),
    )


def _form(document: Document) -> str:
    """Return the format, by the rows' member; T4 and CLBlast share one."""
    forms = [form for form, (rows, _) in READERS.items() if rows == document.rows_name]
    return forms[0] if clblast.FAMILY in document.header else forms[-1]
