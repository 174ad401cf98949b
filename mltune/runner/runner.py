"""The runner's contract: who asks "how fast is this config on this problem?" asks this."""

from __future__ import annotations

from typing import Protocol

from mltune.device_info import DeviceInfo
from mltune.problem import Problem
from mltune.record import Measurement
from mltune.space.config import Config


class Runner(Protocol):
    """Answers "how fast is this config on this problem?"."""

    @property
    def device(self) -> DeviceInfo:
        """The device that the answers are about."""
        ...

    def run(self, problem: Problem, config: Config) -> Measurement:
        """Return one measurement; a bad config is an answer, not an exception."""
        ...

    def close(self) -> None:
        """Let go of the device; closing twice is fine."""
        ...
