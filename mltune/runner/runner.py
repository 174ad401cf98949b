"""The runner's contract: who asks "how fast is this config on this problem?" asks this."""

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
        """Hear which config will be asked for soon; it changes no answer."""
        ...

    def expect(self, problem: Problem) -> None:
        """Hear which problem will be asked for soon, of configs that are built; as `prepare`."""
        ...

    def soonest(self, problem: Problem, configs: Sequence[Config]) -> int:
        """Return the place of the config that `run` would not have to wait for.

        It waits until there is one, and is the first of them. There must be a config.
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
            problem: what is computed.
            config: the kernel.
            to_beat: seconds of the best config so far: one that is clearly slower may be given
                fewer samples.
            checked: whether its result, found right before, need not be checked again.

        Raises:
            DeviceGoneError: when the device can no longer be used.
        """
        ...

    def close(self) -> None:
        """Let go of the device; closing twice is fine."""
        ...
