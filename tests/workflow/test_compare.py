"""Comparison of several runs, by kernel and by size."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mltune.errors import UsageError
from mltune.measurement import Measurement, Status
from mltune.run.run_info import RunInfo
from mltune.workflow.compare import compare

Make = Callable[..., Measurement]
Save = Callable[..., Path]


def test_sizes_have_the_best_of_each_run_and_the_mean_of_the_ratios(
    info: RunInfo, make: Make, save: Save
) -> None:
    here = save("here", info, [make(0, 8, 4.0), make(1, 8, 2.0), make(1, 16, 1.0)])
    there = save("there", info, [make(0, 8, 1.0), make(1, 8, 8.0), make(2, 16, 1.0)])
    result = compare([here, there])
    (rows,) = result.by_size()

    assert [row[0].label for row in rows] == ["Cij_Aik_Bkj_SB_MT0", "Cij_Aik_Bkj_SB_MT1"]
    assert result.best(rows, 0) == pytest.approx(rows[1][0].mean)
    assert result.best(rows, 1) == pytest.approx(rows[0][1].mean)
    assert result.geomean(rows, 1) == pytest.approx(1.0)  # 4 times as fast, and a quarter


def test_what_failed_in_a_run_has_no_ratio(info: RunInfo, make: Make, save: Save) -> None:
    here = save("here", info, [make(0, 8, 4.0)])
    there = save("there", info, [make(0, 8, Status.CRASHED)])
    result = compare([here, there])

    assert result.geomean(result.rows, 1) is None
    assert result.best(result.rows, 1) is None


def test_runs_without_a_kernel_in_common_are_refused(
    info: RunInfo, make: Make, save: Save
) -> None:
    here, there = save("here", info, [make(0, 8, 4.0)]), save("there", info, [make(1, 8, 4.0)])

    with pytest.raises(UsageError, match="have no kernel on the same size in common"):
        compare([here, there])
    with pytest.raises(UsageError, match="needs two runs or more"):
        compare([here])
