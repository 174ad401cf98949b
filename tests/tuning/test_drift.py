"""Which measurements were disturbed, by their reference kernel and their samples."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mltune.measurement import Measurement, Status
from mltune.runner.live import REFERENCE_SECONDS
from mltune.tuning.drift import DriftCorrection

Make = Callable[..., Measurement]


def row(make: Make, reference: float, *seconds: float) -> Measurement:
    return make(
        0, 8, 1.0, seconds=seconds or (1.0,) * 7, observed=((REFERENCE_SECONDS, reference),)
    )


def corrected(make: Make, *references: float) -> DriftCorrection:
    return DriftCorrection(row(make, reference) for reference in references)


def test_a_slow_reference_is_a_disturbance_and_taken_out_of_the_time(make: Make) -> None:
    times = corrected(make, *(2.0,) * 20)

    assert times.is_undisturbed(row(make, 2.1))
    assert not times.is_undisturbed(row(make, 4.0))
    assert times.seconds(row(make, 4.0)) == pytest.approx(0.5)


def test_a_reference_that_always_varies_is_no_disturbance(make: Make) -> None:
    times = corrected(make, *(11e-6, 12e-6, 13e-6, 14e-6) * 5)

    assert times.slowdown(row(make, 14.5e-6)) == 1


def test_a_device_that_is_often_disturbed_does_not_make_that_normal(make: Make) -> None:
    times = corrected(make, *(1.0,) * 2, *(1.4,) * 8, *(3.0,) * 10)

    assert times.slowdown(row(make, 3.0)) > 2


def test_samples_that_disagree_are_a_disturbance(make: Make) -> None:
    times = corrected(make, *(1.0,) * 20)

    assert not times.is_undisturbed(row(make, 1.0, *(1.0, 2.0) * 10))
    assert times.is_undisturbed(row(make, 1.0, *(1.0, 1.01) * 10))


def test_three_samples_of_a_lost_race_say_too_little(make: Make) -> None:
    assert corrected(make, 1.0).is_undisturbed(row(make, 1.0, 1.0, 1.5, 2.0))


def test_a_failure_and_a_row_without_reference_are_undisturbed(make: Make) -> None:
    others = (make(0, 8, Status.TIMEOUT), make(0, 8, 1.0))
    times = DriftCorrection([*(row(make, 1.0) for _ in range(20)), *others])

    assert all(map(times.is_undisturbed, others))
    assert list(map(times.seconds, others)) == [None, 1.0]


def test_the_first_measurement_is_undisturbed(make: Make) -> None:
    assert DriftCorrection().is_undisturbed(row(make, 1.0))


def test_a_clear_disturbance_is_more_than_a_flagged_one(make: Make) -> None:
    times = corrected(make, *(1.0,) * 20)

    assert not times.is_undisturbed(row(make, 1.2))
    assert not times.is_clearly_disturbed(row(make, 1.2))
    assert times.is_clearly_disturbed(row(make, 1.6))
    assert times.is_clearly_disturbed(row(make, 1.0, *(1.0, 2.0) * 10))
