"""A runner whose answers are made up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mltune.device_info import DeviceInfo
from mltune.measurement import Measurement
from mltune.problem import Problem
from mltune.space.config import Config


class ScriptedRunner:
    """A `Runner` with the answers of a list, in its order; the last one is repeated."""

    ahead = 0

    def __init__(self, device: DeviceInfo, answers: Sequence[Measurement]) -> None:
        self.device = device
        self._answers = list(answers)

    def prepare(self, problem: Problem, config: Config) -> None:
        """Do nothing."""

    def expect(self, problem: Problem) -> None:
        """Do nothing."""

    def soonest(self, problem: Problem, configs: Sequence[Config]) -> int:
        return 0

    def has_built(self, problem: Problem, configs: Sequence[Config]) -> bool:
        return True

    def run(
        self,
        problem: Problem,
        config: Config,
        *,
        to_beat: float | None = None,
        checked: bool = False,
    ) -> Measurement:
        return replace(self.answer(problem, config), problem=problem, config=config)

    def answer(self, problem: Problem, config: Config) -> Measurement:
        """Return the next answer; other runners compute theirs from problem and config."""
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]

    def close(self) -> None:
        """Do nothing."""
