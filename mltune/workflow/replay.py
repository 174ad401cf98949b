"""`mltune replay`: one recorded measurement, repeated, with both results."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mltune.measurement import Measurement
from mltune.run.run import Run
from mltune.tuning.families import family_named
from mltune.workflow.recorded_device import recorded_device
from mltune.workflow.run_setup import open_runner

_MOST_APART = 1.25
"""Times that are further apart do not agree, however far their samples are spread."""


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """A recorded measurement and its repetition."""

    recorded: Measurement
    repeated: Measurement

    @property
    def ratio(self) -> float | None:
        """Repeated time / recorded time; None if either failed."""
        old, new = self.recorded.median, self.repeated.median
        return None if old is None or new is None else new / old

    @property
    def verdict(self) -> str:
        """Return one line: whether the two agree, or why they cannot be compared."""
        old, new = self.recorded, self.repeated
        if old.source_hash != new.source_hash and new.source_hash:
            return "not comparable: this mltune writes another source for this config"
        if (old.device, old.driver) != (new.device, new.driver):
            return f"another device or driver: recorded on {old.device} {old.driver}"
        if old.status is not new.status:
            return f"disagree: {old.status.value} was recorded, {new.status.value} came now"
        if self.ratio is None:
            return f"agree: {new.status.value} both times"
        spread, noisy = max(
            (max(m.seconds) / min(m.seconds), name)
            for m, name in ((old, "recorded"), (new, "repeated"))
        )
        apart = max(self.ratio, 1 / self.ratio)
        word = "agree" if apart <= _MOST_APART else "too noisy to tell"
        return (
            f"{word if apart <= spread else 'differ'}: {self.ratio:.3f} of the recorded time; the "
            f"slowest {noisy} sample takes {spread:.2f} times the fastest"
        )

    def to_json(self) -> dict[str, Any]:
        """Return the document that `--json` prints."""
        return {
            "recorded": _json(self.recorded),
            "repeated": _json(self.repeated),
            "ratio": self.ratio,
            "verdict": self.verdict,
        }


def replay(folder: Path, number: int, device: str | None) -> ReplayResult:
    """Repeat a recorded measurement, with the run's own timing policy.

    Args:
        folder: of the run.
        number: the measurement's id.
        device: that measures; None for the run's device.

    Raises:
        UsageError: when there is no such run or measurement.
        NoDeviceError: when there is no such device.
    """
    with Run.open(folder) as run:
        recorded = run.store.get(number)
        info = run.info
    family = family_named(recorded.family, f"{folder}: measurement {number}", info.kernels)
    with (
        recorded_device(info.device, device, folder) as name,
        open_runner(
            name, family, (recorded.problem.contraction.precision,), info.timing, seed=info.seed
        ) as runner,
    ):
        return ReplayResult(recorded, runner.run(recorded.problem, recorded.config))


def _json(measurement: Measurement) -> dict[str, Any]:
    return {
        "id": measurement.id,
        "size": list(measurement.problem.size),
        "kernel": measurement.kernel,
        "status": measurement.status.value,
        "seconds": measurement.median,
        "samples": list(measurement.seconds),
        "gflops": measurement.gflops,
        "max_error": measurement.max_error,
        "error_bound": measurement.error_bound,
        "device": measurement.device,
        "driver": measurement.driver,
        "timestamp": measurement.timestamp,
        "message": measurement.message,
    }
