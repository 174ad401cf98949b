"""Results from other tuners' recordings, which only have a config's time."""

from __future__ import annotations

from mltune.device_info import DeviceInfo
from mltune.measurement import Measurement
from mltune.measurement.recording import Recording
from mltune.problem import Precision, Problem, gemm, gemm_problem
from mltune.runner.replay import ReplayRunner
from mltune.space.config import Config


class RecordingRunner(ReplayRunner):
    """A runner without a device: every config of the recording has its point.

    The recording describes problem and device in its own words; one problem and a device without
    limits stand for these.
    """

    def __init__(self, recording: Recording) -> None:
        super().__init__((), _device(recording.device))
        self.points = {point.config: point for point in recording.points}
        self.problem = gemm_problem(gemm(Precision.SINGLE), 1, 1, 1)

    def run(
        self,
        problem: Problem,
        config: Config,
        *,
        to_beat: float | None = None,
        checked: bool = False,
    ) -> Measurement:
        """Return what was recorded."""
        point = self.points[config]
        return Measurement(
            problem=problem,
            config=config,
            family="recorded",
            kernel="",
            source_hash="",
            build_options=(),
            device=self.device.name,
            driver="",
            uuid="",
            status=point.status,
            seconds=() if point.seconds is None else (point.seconds,),
        )


def _device(name: str) -> DeviceInfo:
    return DeviceInfo(
        name=name,
        vendor="",
        kind="cpu",
        platform="recorded",
        driver_version="",
        compute_units=1,
        clock_mhz=1,
        wave_size=1,
        max_work_group_size=1,
        max_work_item_sizes=(1, 1, 1),
        local_mem_bytes=1,
        global_mem_bytes=1,
        max_alloc_bytes=1,
    )
