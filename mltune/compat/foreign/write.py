"""Writes recordings in other tuners' formats, with a line about what a format cannot hold."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Callable
from typing import Any

from mltune.compat.foreign.kernel_tuner import NONE
from mltune.measurement.measurement import Status
from mltune.measurement.recording import Point, Recording

Written = tuple[str, tuple[str, ...]]
"""A text, and lines about what is missing in it."""

_KERNEL_TUNER = {
    Status.BUILD_ERROR: "CompilationFailedConfig",
    Status.INVALID: "InvalidConfig",
}
_KERNEL_TUNER_OTHER = "RuntimeFailedConfig"
_T4 = {
    Status.OK: "correct",
    Status.BUILD_ERROR: "compile",
    Status.LAUNCH_ERROR: "runtime",
    Status.CRASHED: "runtime",
    Status.TIMEOUT: "timeout",
    Status.WRONG_RESULT: "correctness",
    Status.INVALID: "constraints",
}


def to_kernel_tuner(recording: Recording) -> Written:
    """Write a Kernel Tuner cache; times are in milliseconds there.

    Read back, nearly all times are the same; the others are off by one unit in the last place.
    A parameter that a config's family lacks is the empty word there, as each row must have all.
    """
    names = _names(recording)
    rows = {
        ",".join(str(point.config.get(name, NONE)) for name in names): {
            **{name: point.config.get(name, NONE) for name in names},
            "time": _KERNEL_TUNER.get(point.status, _KERNEL_TUNER_OTHER)
            if point.seconds is None
            else point.seconds * 1000,
        }
        for point in recording.points
    }
    document = {
        "device_name": recording.device,
        "kernel_name": recording.problem,
        "problem_size": "",
        "tune_params_keys": names,
        "tune_params": {
            name: list(dict.fromkeys(p.config.get(name, NONE) for p in recording.points))
            for name in names
        },
        "objective": "time",
    }
    # One row a line, as in Kernel Tuner's files, so that a truncated end costs one row.
    cache = ",\n".join(f"{json.dumps(key)}: {json.dumps(row)}" for key, row in rows.items())
    text = json.dumps(document)[:-1] + ', "cache": {\n' + cache + "\n}}\n"
    lost = (Status.CRASHED, Status.TIMEOUT, Status.WRONG_RESULT)
    return text, _merged(recording, lost, f"'{_KERNEL_TUNER_OTHER}'")


def to_t4(recording: Recording) -> Written:
    """Write T4 results, with times in seconds, which reads back to the same numbers."""
    document = {
        "schema_version": "1.0.0",
        "metadata": {"timeunit": "seconds"},
        "device_name": recording.device,
        "kernel_name": recording.problem,
        "results": [_t4_row(point) for point in recording.points],
    }
    text = json.dumps(document, indent=1) + "\n"
    return text, _merged(recording, (Status.CRASHED,), "'runtime'")


def to_csv(recording: Recording) -> Written:
    """Write a table: the parameters, the seconds, and the status."""
    names = _names(recording)
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*names, "seconds", "status"])
    for point in recording.points:
        seconds = "" if point.seconds is None else repr(point.seconds)
        values = (point.config.get(name, NONE) for name in names)
        writer.writerow([*values, seconds, point.status.value])
    return text.getvalue(), ()


WRITERS: dict[str, Callable[[Recording], Written]] = {
    "csv": to_csv,
    "kernel-tuner": to_kernel_tuner,
    "t4": to_t4,
}
"""The formats by their names on the command line."""


def _names(recording: Recording) -> list[str]:
    """Return the parameters of all configs: those of several families differ."""
    return list(dict.fromkeys(name for point in recording.points for name in point.config))


def _t4_row(point: Point) -> dict[str, Any]:
    measured = [] if point.seconds is None else [point.seconds]
    return {
        "configuration": point.config.to_json(),
        "objectives": ["time"],
        "times": {"runtimes": measured},
        "invalidity": _T4[point.status],
        "correctness": int(point.status is Status.OK),
        "measurements": [{"name": "time", "value": seconds, "unit": "s"} for seconds in measured],
    }


def _merged(recording: Recording, statuses: tuple[Status, ...], word: str) -> tuple[str, ...]:
    """Return one line about failures that the format does not distinguish."""
    counts = Counter(p.status for p in recording.points if p.status in statuses)
    if not counts:
        return ()
    kinds = ", ".join(f"{count} {status.value}" for status, count in counts.items())
    return (f"the format does not tell these failures from others: {kinds} (written as {word})",)
