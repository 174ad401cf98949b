"""Why a search stopped, and when further trials are not worth their time."""

from __future__ import annotations

from enum import Enum
from typing import Any

from mltune.search.expected_gain import ExpectedGain

LITTLE = 0.001
"""The least expected share of saved time for which a trial is worth it."""

AHEAD = 100
"""The number of trials of the expected gain at the end of a search."""


class StopReason(Enum):
    """The reason why the trials of a search ended."""

    BUDGET = "budget"
    TIME_LIMIT = "time limit"
    SPACE = "space used up"
    PATIENCE = "no gain expected"
    LEADERS = "leaders left"
    CONCLUDED = "concluded"
    """Other workers have finished the run."""
    STOPPED = "stopped"
    """A callback called `study.stop()`."""
    INTERRUPTED = "interrupted"
    DEVICE_LOST = "device lost"


def gain_to_json(gain: ExpectedGain | None) -> dict[str, Any] | None:
    """Return a JSON-ready mapping."""
    if gain is None:
        return None
    return {
        "next_gain": gain.next_gain,
        "trials": gain.trials,
        "expected_gain": gain.ahead_gain,
    }
