"""Expected times of leaders on sizes where they were not timed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mltune.measurement import Measurement, Phase, Status
from mltune.run.run_info import RunInfo
from mltune.workflow.expected_times import rule_table
from tests.made_up import build_measurement, info

__all__ = ["info"]


def leader(kernel: int, m: int, outcome: float | Status) -> Measurement:
    return build_measurement(kernel, m, outcome, Phase.FINAL)


def seconds(kernel: int, m: int) -> float:
    return (1 + kernel) * m * 1e-6


def test_gaps_are_filled_by_what_the_others_tell_but_for_failures(info: RunInfo) -> None:
    sizes = [8 * m for m in range(1, 17)]
    rows = [leader(0, m, seconds(0, m)) for m in sizes]
    rows += [leader(1, m, seconds(1, m)) for m in sizes[::2]]
    rows.append(leader(1, sizes[1], Status.TIMEOUT))

    table = rule_table(rows, [replace(info, leaders_chosen=True)])

    assert np.isnan(table.known[1, 1])
    filled = table.known[3::2, 1]
    assert np.all(np.isnan(table.seconds[3::2, 1]))
    assert np.all(np.abs(np.log(filled / [seconds(1, m) for m in sizes[3::2]])) < 0.3)
    whole = rule_table(rows, [info])
    assert np.isnan(whole.known[1, 1])
    # As above, and one standard deviation slower.
    assert np.all(whole.known[3::2, 1] > 0.9 * filled)
