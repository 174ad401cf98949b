"""Measurements as a pandas table, for analyses and plots of one's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mltune.measurement.measurement import Measurement

if TYPE_CHECKING:
    import pandas as pd

_WHOLE = ("trial", "m", "n", "k", "batch", "samples")
_TEXT = ("phase", "status", "family", "kernel", "message")


def to_frame(measurements: Sequence[Measurement]) -> pd.DataFrame:
    """Make a table with a row for each measurement; the index is the id.

    The columns are the measured values, then what observers recorded, by their names, then the
    parameters of the configs. If a parameter has the name of another column, its column is called
    `config_` and the name. A parameter that a config lacks is an empty cell; whole numbers stay
    whole.
    """
    import pandas as pd  # takes half a second to load

    frame = pd.DataFrame(
        {
            "trial": [row.trial for row in measurements],
            "phase": [row.phase for row in measurements],
            "status": [row.status.value for row in measurements],
            "m": [row.problem.m for row in measurements],
            "n": [row.problem.n for row in measurements],
            "k": [row.problem.k for row in measurements],
            "batch": [row.problem.batch for row in measurements],
            "seconds_median": pd.array([row.median for row in measurements], dtype="float64"),
            "gflops": pd.array([row.gflops for row in measurements], dtype="float64"),
            "samples": [len(row.seconds) for row in measurements],
            "max_error": pd.array([row.max_error for row in measurements], dtype="float64"),
            "error_bound": pd.array([row.error_bound for row in measurements], dtype="float64"),
            "compile_seconds": pd.array(
                [row.compile_seconds for row in measurements], dtype="float64"
            ),
            "compile_cached": [row.compile_cached for row in measurements],
            "family": [row.family for row in measurements],
            "kernel": [row.kernel for row in measurements],
            "message": [row.message for row in measurements],
            "timestamp": pd.to_datetime(
                [row.timestamp for row in measurements], format="ISO8601", utc=True
            ),
        },
        index=pd.Index([row.id for row in measurements], name="id"),
    )
    if frame.empty:  # else pandas takes all columns for numbers
        frame = frame.astype({**dict.fromkeys(_WHOLE, "int64"), **dict.fromkeys(_TEXT, "str")})
    observed = pd.DataFrame([dict(row.observed) for row in measurements], index=frame.index)
    configs = pd.DataFrame([row.config.to_json() for row in measurements], index=frame.index)
    taken = {*frame, *observed}
    configs.columns = [f"config_{name}" if name in taken else name for name in configs]
    whole = [name for name in configs if configs[name].dtype.kind == "f"]
    return frame.join([observed, configs.astype(dict.fromkeys(whole, "Int64"))])
