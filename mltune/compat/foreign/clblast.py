"""Files of CLBlast's tuners: an array of rows, each with its kernel, time and parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mltune.compat.foreign.document import Document
from mltune.compat.foreign.rows import Row, timed
from mltune.measurement.measurement import Status

FAMILY = "kernel_family"
"""A member that only CLBlast's files have."""

_SIZES = ("arg_m", "arg_n", "arg_k", "arg_batch_count")


def read_rows(document: Document) -> list[Row | str]:
    """Return the rows of a tuner's file; a text stands for a wrong row, with the reason."""
    return [_row(where, value) for where, value in document.rows]


def problem_of(document: Document) -> str:
    """Return the kernel family, the precision in bits, and the sizes."""
    words = [document.text(FAMILY), document.text("precision")]
    sizes = [text for name in _SIZES if (text := document.text(name))]
    return " ".join([*(word for word in words if word), *(["x".join(sizes)] if sizes else [])])


def device_of(document: Document) -> str:
    """Return the device as its driver names it, or, of older files, as CLBlast does."""
    return document.text("device") or document.text("clblast_device_name")


def _row(where: str, value: Any) -> Row | str:
    if not isinstance(value, Mapping):
        return f"{where}: must be an object"
    parameters: Any = value.get("parameters")
    time: Any = value.get("time")
    if not isinstance(parameters, Mapping) or not parameters:
        return f"{where}: must have 'parameters'"
    # A failed config has a time of 0.
    if type(time) in (int, float) and time <= 0:
        return Row(where, parameters, None, Status.INVALID)
    return timed(where, parameters, time, per_second=1e3)
