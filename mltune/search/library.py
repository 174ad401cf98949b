"""Searching for a library: on every size the best config for it is used.

Any searcher can do it, by one value for a config over all sizes. One with a model of every size
does better: it looks for what some sizes lack, and leaves out those that cannot gain.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Protocol

from mltune.record.measurement import Status
from mltune.search.outlook import Foreseeing, Outlook
from mltune.search.searcher import Searcher, check_answer
from mltune.space.config import Config


class LibrarySearcher(Protocol):
    """Proposes configs of one space, each at most once, and on which sizes to time them.

    Sizes are told by their numbers. What it says depends only on the space, the seed, and the
    calls so far with their order.
    """

    def ask(self) -> Config | None:
        """Return a config never returned nor told before, or None when there is none left."""
        ...

    def avoid(self, config: Config) -> None:
        """Hear that a config is tried elsewhere, so that it is not proposed; `tell` may follow."""
        ...

    def sizes(self, config: Config) -> tuple[int, ...]:
        """Return the sizes that a config that was not told yet is worth being timed on.

        For one that was asked for, the answer is that of the moment when it was.
        """
        ...

    def tell(self, config: Config, values: Mapping[int, float], status: Status) -> None:
        """Say how a config did; as of a `Searcher`, of several answers the first counts.

        Args:
            config: the config that was tried.
            values: what to make small, finite, by size; of no use if it failed.
            status: how it ended.

        Raises:
            ValueError: when values and status disagree.
        """
        ...

    def outlook(self, trials: int) -> Outlook | None:
        """Return what is expected of further trials; None if that is not known."""
        ...


class OneValueLibrary:
    """A searcher that hears one value of a config: the mean over all sizes; a `LibrarySearcher`.

    Args:
        searcher: used by this library alone.
        count: of the sizes.
    """

    def __init__(self, searcher: Searcher, count: int) -> None:
        self._searcher = searcher
        self._count = count

    def ask(self) -> Config | None:
        """Return the searcher's next config."""
        return self._searcher.ask()

    def avoid(self, config: Config) -> None:
        """Hand it on."""
        self._searcher.avoid(config)

    def sizes(self, config: Config) -> tuple[int, ...]:
        """Return all sizes."""
        return tuple(range(self._count))

    def tell(self, config: Config, values: Mapping[int, float], status: Status) -> None:
        """Hand on the mean; of a config that lacks a size nothing is said."""
        if status is not Status.OK:
            self._searcher.tell(config, None, status)
        elif len(values) == self._count:
            self._searcher.tell(config, math.fsum(values.values()) / self._count, status)

    def outlook(self, trials: int) -> Outlook | None:
        """Return what the searcher expects, if it can tell."""
        return self._searcher.outlook(trials) if isinstance(self._searcher, Foreseeing) else None


def check_answers(values: Mapping[int, float], status: Status) -> None:
    """Accept finite values that come with `Status.OK`, or any other status.

    Raises:
        ValueError: for everything else.
    """
    if status is Status.OK:
        for value in values.values():
            check_answer(value, status)
        if not values:
            raise ValueError("values and status disagree: none with status ok")
