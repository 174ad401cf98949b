"""T4 results files: an array of rows, each with its config, measurements and validity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mltune.compat.foreign.document import Document
from mltune.compat.foreign.rows import Row, timed
from mltune.errors import UsageError
from mltune.measurement.measurement import Status

_FAILURES = {
    "compile": Status.BUILD_ERROR,
    "runtime": Status.LAUNCH_ERROR,
    "timeout": Status.TIMEOUT,
    "correctness": Status.WRONG_RESULT,
}
_PER_SECOND = {
    "seconds": 1.0,
    "milliseconds": 1e3,
    "miliseconds": 1e3,  # the spelling of published files
    "microseconds": 1e6,
    "nanoseconds": 1e9,
    "s": 1.0,
    "ms": 1e3,
    "us": 1e6,
    "µs": 1e6,
    "ns": 1e9,
}


def read_rows(document: Document) -> list[Row | str]:
    """Return the rows of a results file; a text stands for a wrong row, with the reason.

    Raises:
        UsageError: when its unit of time is unknown.
    """
    metadata = document.header.get("metadata", {})
    unit = metadata.get("timeunit", "milliseconds") if isinstance(metadata, Mapping) else None
    if not isinstance(unit, str) or unit not in _PER_SECOND:
        known = ", ".join(_PER_SECOND)
        raise UsageError(f"metadata: unknown timeunit {unit!r:.80} (known: {known})")
    return [_row(where, value, _PER_SECOND[unit]) for where, value in document.rows]


def _row(where: str, value: Any, per_second: float) -> Row | str:
    config = value.get("configuration") if isinstance(value, Mapping) else None
    if not isinstance(config, Mapping) or not config:
        return f"{where}: must be an object with a 'configuration'"
    validity = value.get("invalidity", "correct")
    if validity != "correct":
        failure = _FAILURES.get(validity) if isinstance(validity, str) else None
        return Row(where, config, None, failure or Status.INVALID)
    time = _time(value)
    unit = time.get("unit")
    if isinstance(unit, str):
        per_second = _PER_SECOND.get(unit, per_second)
    return timed(where, config, time.get("value"), per_second)


def _time(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the measurement of the time; an empty one if there is none."""
    measurements = value.get("measurements")
    for one in measurements if isinstance(measurements, list) else ():
        if isinstance(one, Mapping) and one.get("name") == "time":
            return one
    return {}
