"""Expected times of leaders on sizes where they were not timed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mltune.measurement import Measurement, Phase, Status
from mltune.run.run_info import RunInfo
from mltune.workflow.expected_times import rule_table
from mltune.workflow.recorded import TimedByRun
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
    added = np.log(whole.known[3::2, 1] / filled)
    assert np.all((added > 0.049) & (added < 0.5))
    assert rule_table(rows[:16], [info]).expected is None


def test_no_run_chose_to_leave_out_a_kernel_of_another_run(info: RunInfo) -> None:
    """Such a time counts as one standard deviation slower, and the table knows of the gap."""
    sizes = [8 * m for m in range(1, 17)]
    first = [leader(0, m, seconds(0, m)) for m in sizes]
    first += [leader(1, m, seconds(1, m)) for m in sizes[::2]]
    second = [leader(2, m, seconds(2, m)) for m in sizes[:4]]
    chosen = [replace(info, leaders_chosen=True)] * 2

    timed = [TimedByRun.of(first), TimedByRun.of(second)]
    both = rule_table(first + second, chosen, timed)

    sure = rule_table(first + second, chosen)
    assert sure.met is None
    assert both.met is not None
    expected = np.ones((16, 3), dtype=np.bool_)
    expected[4:, 2] = False  # sizes of the first run alone, and the kernel of the second
    expected[:4] = True
    expected[1:4:2, 1] = True  # left out by its own run
    assert np.array_equal(both.met, expected)
    one_of_two = rule_table(first + second, [info, chosen[0]], timed)
    assert one_of_two.met is not None
    assert np.array_equal(one_of_two.met, expected)
    none = rule_table(first + second, [info] * 2, timed)
    assert none.met is None
    assert len(none.kernels) == 2  # the third met few sizes
    assert np.array_equal(both.known[:, :2], sure.known[:, :2])
    added = np.log(both.known[4:, 2] / sure.known[4:, 2])
    assert np.all((added > 0.049) & (added < 0.5))
