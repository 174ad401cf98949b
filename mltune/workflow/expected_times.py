"""What a model expects of the leaders where it chose not to time them, for the rule to learn from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from mltune.device_info import DeviceInfo
from mltune.distil import TimeTable
from mltune.distil.table import Size
from mltune.measurement import Measurement, Status
from mltune.tuning.leader_model import LeaderModel


def with_expected(
    table: TimeTable, rows: Iterable[Measurement], device: DeviceInfo
) -> TimeTable:
    """Return the table with what is expected in its gaps, but where a kernel failed.

    Args:
        table: of times.
        rows: that it was made from.
        device: that measured them.
    """
    problems = {}
    failed = set()
    for row in rows:
        problem = row.problem
        size = Size(problem.m, problem.n, problem.k, problem.batch)
        problems[size] = problem
        if row.status is not Status.OK:
            failed.add((size, row.kernel))
    if not np.isnan(table.seconds).any():
        return table
    model = LeaderModel(
        [kernel.name for kernel in table.kernels],
        [kernel.config for kernel in table.kernels],
        [problems[size] for size in table.sizes],
        device,
    )
    expected = np.exp(model.expect(table.seconds).logs)
    known_to_fail = [[(size, kernel.name) in failed for kernel in table.kernels] for size in table.sizes]
    return replace(table, expected=np.where(known_to_fail, np.nan, expected))
