"""Kernel Tuner's cache files: an object of rows by config, times in milliseconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mltune.compat.foreign.document import Document
from mltune.compat.foreign.rows import Row, timed
from mltune.errors import UsageError
from mltune.measurement.measurement import Status
from mltune.space.union import FAMILY

_FAILURES = {
    "CompilationFailedConfig": Status.BUILD_ERROR,
    "RuntimeFailedConfig": Status.LAUNCH_ERROR,
    "InvalidConfig": Status.INVALID,
}
NONE = ""
"""The value of a parameter that a row's kernel family lacks, as each row must have all."""
_OLD_FAILURE = 1e20
"""The time that old versions wrote for a config that failed."""


def read_rows(document: Document) -> list[Row | str]:
    """Return the rows of a cache; a text stands for a wrong row, with the reason.

    Raises:
        UsageError: when the header does not name the parameters.
    """
    names = document.header.get("tune_params_keys")
    if not isinstance(names, list) or not names or not all(isinstance(n, str) for n in names):
        raise UsageError("member 'tune_params_keys' must list the parameters before 'cache'")
    once = tuple(dict.fromkeys(names))
    return [_row(where, value, once) for where, value in document.rows]


def _row(where: str, value: Any, names: Sequence[str]) -> Row | str:
    if not isinstance(value, Mapping):
        return f"{where}: must be an object"
    missing = next((name for name in names if name not in value), None)
    if missing is not None:
        return f"{where}: lacks parameter '{missing:.80}'"
    values = {name: value[name] for name in names}
    if FAMILY in values:
        values = {name: each for name, each in values.items() if each != NONE}
    time = value.get("__error__", value.get("time"))
    if isinstance(time, str):
        return Row(where, values, None, _FAILURES.get(time, Status.INVALID))
    if type(time) in (int, float) and time >= _OLD_FAILURE:
        return Row(where, values, None, Status.INVALID)
    return timed(where, values, time, per_second=1e3)
