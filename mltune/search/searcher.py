"""The searcher: proposes configs, and learns from how they did."""

from __future__ import annotations

import math
from typing import Protocol

from mltune.record.measurement import Status
from mltune.space.config import Config


class Searcher(Protocol):
    """Proposes configs of one space, each at most once.

    Proposals depend only on the space, the seed, and the calls so far with their order.
    """

    def ask(self) -> Config | None:
        """Return a config never returned nor told before, or None when there is none left.

        Several configs may be asked for before the first of them is told.
        """
        ...

    def avoid(self, config: Config) -> None:
        """Hear that a config is tried elsewhere, so that it is not proposed; `tell` may follow."""
        ...

    def tell(self, config: Config, value: float | None, status: Status) -> None:
        """Say how a config did.

        Configs that were never asked for are welcome: that is how a run is resumed. Of several
        answers on one config the first counts; a config outside the space says at
        most what is to be beaten.

        Args:
            config: the config that was tried.
            value: what to make small, finite; None if it failed.
            status: how it ended.

        Raises:
            ValueError: when value and status disagree.
        """
        ...


def check_answer(value: float | None, status: Status) -> None:
    """Accept a finite value that comes with `Status.OK`, or None with any other status.

    Raises:
        ValueError: for everything else.
    """
    if (status is Status.OK) != (value is not None):
        raise ValueError(f"value and status disagree: {value} with status {status.value}")
    if value is not None and not math.isfinite(value):
        raise ValueError(f"a value must be finite, got {value}")
