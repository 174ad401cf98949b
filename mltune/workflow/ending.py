"""Why a search ended, and when it is no use to go on."""

from __future__ import annotations

from enum import Enum
from typing import Any

from mltune.search.outlook import Foreseeing, Outlook

LITTLE = 0.001
"""A trial from which a smaller share of the time is expected to be saved is not worth it."""

AHEAD = 100
"""Trials that the end of a search looks ahead."""


class Ending(Enum):
    """What ended the trials of a search."""

    BUDGET = "budget"
    TIME_LIMIT = "time limit"
    SPACE = "space used up"
    PATIENCE = "no gain expected"
    LEADERS = "leaders left"
    INTERRUPTED = "interrupted"
    DEVICE_LOST = "device lost"


class Patience:
    """Counts the trials since the last gain.

    Args:
        trials: after so many without a gain it is lost; None for never.
    """

    def __init__(self, trials: int | None) -> None:
        self._trials = trials
        self._idle = 0

    def hear(self, is_gain: bool) -> None:
        """Note a trial."""
        self._idle = 0 if is_gain else self._idle + 1

    def is_lost(self, searcher: object) -> bool:
        """Whether there was no gain for long, and the searcher expects none, if it can tell."""
        if self._trials is None or self._idle < self._trials:
            return False
        outlook = outlook_of(searcher)
        return outlook is None or outlook.next_gain < LITTLE


def outlook_of(searcher: object) -> Outlook | None:
    """Return what a searcher expects of further trials; None if it cannot tell."""
    return searcher.outlook(AHEAD) if isinstance(searcher, Foreseeing) else None


def outlook_to_json(outlook: Outlook | None) -> dict[str, Any] | None:
    """Return a JSON-ready mapping."""
    if outlook is None:
        return None
    return {
        "next_gain": outlook.next_gain,
        "trials": outlook.trials,
        "expected_gain": outlook.ahead_gain,
    }
