"""Corrects times for the drift of the device, by a reference kernel that ran beside each.

A measurement keeps the time of a known kernel that ran just before and after it. If that kernel
took clearly longer than it takes undisturbed in this run, so did the measurement: the clock was
lower, or another program used the device.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable

from mltune.measurement import Measurement
from mltune.runner.live import REFERENCE_SECONDS
from mltune.runner.timing import RACING_SAMPLES, spread

DISTURBED = 1.1
"""With a smaller slowdown of the reference kernel, a measurement is not disturbed."""

CLEARLY_DISTURBED = 1.5
"""With a larger one, a measurement is disturbed in any case."""

BLURRED = 0.1
"""A measurement whose median has a wider interval than this after all samples is disturbed, too.
"""

_NOISE = 5.0
"""Within this many times its own spread the reference kernel is undisturbed; an H200 takes 11 to
14 us.
"""

_QUIET_SHARE = 4  # the fastest quarter is undisturbed; the very fastest may be chance
_LUCKY_SHARE = 20


class DriftCorrection:
    """Learns from measurements how long the reference kernel takes undisturbed."""

    def __init__(self, measurements: Iterable[Measurement] = ()) -> None:
        self._references: list[float] = []
        for measurement in measurements:
            self.note(measurement)

    def note(self, measurement: Measurement) -> None:
        """Learn from one more measurement."""
        reference = measurement.seen(REFERENCE_SECONDS)
        if reference is not None:
            bisect.insort(self._references, reference)

    def slowdown(self, measurement: Measurement) -> float:
        """Return how many times slower the device was than undisturbed; 1 within the noise."""
        reference = measurement.seen(REFERENCE_SECONDS)
        if reference is None or not self._references:
            return 1.0
        quiet = self._references[len(self._references) // _QUIET_SHARE]
        lucky = self._references[len(self._references) // _LUCKY_SHARE]
        ratio = reference / quiet
        limit = max(DISTURBED, 1 + _NOISE * (quiet / lucky - 1))
        return ratio if ratio > min(limit, CLEARLY_DISTURBED) else 1.0

    def is_undisturbed(self, measurement: Measurement) -> bool:
        """Whether neither the reference kernel nor the samples show a disturbance.

        The few samples of a lost race cannot show one.
        """
        return _is_sharp(measurement) and self.slowdown(measurement) == 1

    def is_clearly_disturbed(self, measurement: Measurement) -> bool:
        """Whether there was a disturbance far above the device's own noise."""
        slowdown = self.slowdown(measurement)
        return not _is_sharp(measurement) or slowdown >= CLEARLY_DISTURBED

    def seconds(self, measurement: Measurement) -> float | None:
        """Return the median, corrected for drift; None if it failed."""
        median = measurement.median
        return None if median is None else median / self.slowdown(measurement)


def _is_sharp(measurement: Measurement) -> bool:
    samples = measurement.seconds
    return len(samples) <= RACING_SAMPLES or spread(samples) <= BLURRED
