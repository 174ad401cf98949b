"""The runner's contract: it answers "how fast is this config on this problem?"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from mltune.device_info import DeviceInfo
from mltune.measurement import Measurement
from mltune.problem import Problem
from mltune.space.config import Config


class Runner(Protocol):
    """Answers "how fast is this config on this problem?"."""

    @property
    def device(self) -> DeviceInfo:
        """The device that the answers are about."""
        ...

    @property
    def ahead(self) -> int:
        """How many configs are worth preparing before the first of them is run."""
        ...

    def prepare(self, problem: Problem, config: Config) -> None:
        """Prefetch hint: the config that will be asked for soon; it changes no result."""
        ...

    def expect(self, problem: Problem) -> None:
        """Prefetch hint: the problem that will be asked for next; it changes no result."""
        ...

    def soonest(self, problem: Problem, configs: Sequence[Config]) -> int:
        """Return the place of a config that `run` would not have to wait for.

        It waits until there is one; of several the first is returned. There must be a config.
        """
        ...

    def has_built(self, problem: Problem, configs: Sequence[Config]) -> bool:
        """Return whether `soonest` would not wait."""
        ...

    def run(
        self,
        problem: Problem,
        config: Config,
        *,
        to_beat: float | None = None,
        checked: bool = False,
    ) -> Measurement:
        """Return one measurement; a bad config is an answer, not an exception.

        Args:
            problem: to compute.
            config: of the kernel.
            to_beat: seconds of the best config so far; a config that is clearly slower may get
                fewer samples.
            checked: whether its result was found right before, and need not be checked again.

        Raises:
            DeviceGoneError: when the device can no longer be used.
        """
        ...

    def close(self) -> None:
        """Release the device; a second call does nothing."""
        ...
