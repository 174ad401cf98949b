"""A run of mltune can be used as a recording."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mltune.errors import UsageError
from mltune.measurement import Measurement, Status
from mltune.run.run_info import RunInfo
from mltune.workflow.recordings import read_any

Make = Callable[..., Measurement]
Save = Callable[..., Path]


def test_a_trial_counts_with_the_mean_over_its_sizes(
    info: RunInfo, make: Make, save: Save
) -> None:
    rows = [
        *(make(0, 8, 1.0), make(0, 16, 4.0)),
        *(make(1, 8, 1.0), make(1, 16, Status.TIMEOUT)),
        make(2, 8, 0.1),  # on one size, where it takes a tenth of the first one's time
        make(0, 8, 9.0, phase="final"),
    ]
    recording = read_any(save("run", info, rows))

    assert [(point.seconds, point.status) for point in recording.points] == [
        (pytest.approx(2.0), Status.OK),
        (None, Status.TIMEOUT),
        (pytest.approx(2.0 * 0.1**0.75), Status.OK),
    ]
    assert (recording.device, recording.problem) == ("pthread", "sgemm_nn")


def test_a_run_without_a_finished_trial_is_refused(info: RunInfo, make: Make, save: Save) -> None:
    folder = save("run", info, [make(0, 8, 1.0)])
    with pytest.raises(UsageError, match="holds no finished trial"):
        read_any(folder)
