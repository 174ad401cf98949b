"""Times that a model predicts for leaders that were not timed on a size, for fitting the rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mltune.device_info import DeviceInfo
from mltune.distil import TimeTable
from mltune.distil.table import Size
from mltune.kernel.parameters.declared import with_defaults
from mltune.measurement import Measurement, Status, of_problems
from mltune.one_thread import one_thread
from mltune.problem import Problem
from mltune.run.run_info import RunInfo
from mltune.tuning.leader_model import LeaderModel
from mltune.workflow.recorded import TimedByRun


def rule_table(
    rows: Sequence[Measurement], infos: Sequence[RunInfo], timed: Sequence[TimedByRun] = ()
) -> TimeTable:
    """Return the times that a rule is fitted to.

    If several runs belong together, kernels of one lack times on sizes of another; a run that was
    cut short lacks times of its last leaders. These count as a model predicts them, plus its
    standard deviation, and not as ten times slower. Where a model chose which leaders of a run are
    timed, it expected the others to be slow, and no deviation is added.

    Args:
        rows: measurements of some runs, of one problem type on one device.
        infos: of these runs.
        timed: by each of these runs; may be left out if there is one.

    Raises:
        UsageError: when the rows do not belong together.
        NoCorrectConfigError: when no kernel is left.
    """
    if not any(info.leaders_chosen for info in infos):
        return with_expected(TimeTable.from_measurements(rows), rows, infos[0].device, 1.0)
    table = TimeTable.from_measurements(rows, chosen=True)
    met = _met(table, timed)
    found = with_expected(table, rows, infos[0].device, np.where(met, 0.0, 1.0))
    return found if met.all() else replace(found, met=met)


def _met(table: TimeTable, timed: Sequence[TimedByRun]) -> NDArray[np.bool_]:
    """Return whether a run that has a size has a kernel, too, by size and kernel."""
    if len(timed) < 2:
        return np.ones(table.seconds.shape, dtype=np.bool_)
    met = np.isfinite(table.seconds)
    kernels = [(each.family, with_defaults(each.family, each.config)) for each in table.kernels]
    for run in timed:
        has_size = [size in run.sizes for size in table.sizes]
        met |= np.outer(has_size, [kernel in run.kernels for kernel in kernels])
    return met


def with_expected(
    table: TimeTable,
    rows: Sequence[Measurement],
    device: DeviceInfo,
    doubt: float | NDArray[np.float64] = 0.0,
) -> TimeTable:
    """Return the table with predicted times in its gaps, except where a kernel failed.

    Args:
        table: of times.
        rows: that it was made from.
        device: that measured them.
        doubt: standard deviations that are added to the predictions, of all or by size and kernel.
    """
    if not np.isnan(table.seconds).any():
        return table
    problems: dict[Size, Problem] = {}
    failed: set[tuple[Size, str]] = set()
    for row, size in zip(rows, of_problems(rows, Size.of), strict=True):
        problems[size] = row.problem
        if row.status is not Status.OK:
            failed.add((size, row.kernel))
    model = LeaderModel(
        [kernel.name for kernel in table.kernels],
        [kernel.config for kernel in table.kernels],
        [problems[size] for size in table.sizes],
        device,
    )
    with one_thread():
        learned = model.learn(table.seconds)
        found = learned.expect(range(len(table.sizes)))
    expected = np.exp(found.logs + doubt * found.doubt)
    fails = [[(size, one.name) in failed for one in table.kernels] for size in table.sizes]
    return replace(table, expected=np.where(fails, np.nan, expected))
