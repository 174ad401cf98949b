"""Results from recorded measurements: a search in milliseconds, the same everywhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from mltune.device_info import DeviceInfo
from mltune.measurement import Measurement, Phase, Status
from mltune.problem import Problem
from mltune.space.config import Config


class ReplayRunner:
    """A runner without a device; of several records of a config and problem the last counts."""

    def __init__(self, measurements: Iterable[Measurement], device: DeviceInfo) -> None:
        self._device = device
        self._recorded = {(row.problem, row.config): row for row in measurements}
        self._family = next((row.family for row in self._recorded.values()), "")

    @property
    def device(self) -> DeviceInfo:
        """The device that was measured."""
        return self._device

    @property
    def ahead(self) -> int:
        """0, as an answer takes no time."""
        return 0

    def prepare(self, problem: Problem, config: Config) -> None:
        """Do nothing: all answers are recorded."""

    def expect(self, problem: Problem) -> None:
        """Do nothing."""

    def soonest(self, problem: Problem, configs: Sequence[Config]) -> int:
        """Return the first."""
        return 0

    def has_built(self, problem: Problem, configs: Sequence[Config]) -> bool:
        """Return true: nothing is built."""
        return True

    def run(
        self,
        problem: Problem,
        config: Config,
        *,
        to_beat: float | None = None,
        checked: bool = False,
    ) -> Measurement:
        """Return the record as a new measurement; without one it is invalid."""
        row = self._recorded.get((problem, config))
        if row is not None:
            return replace(row, id=0, trial=-1, phase=Phase.SEARCH)
        return Measurement(
            problem=problem,
            config=config,
            family=self._family,
            kernel="",
            source_hash="",
            build_options=(),
            device=self._device.name,
            driver=self._device.driver_version,
            uuid=self._device.uuid,
            status=Status.INVALID,
            message="not among the recorded measurements",
        )

    def close(self) -> None:
        """Do nothing: there is no device."""
