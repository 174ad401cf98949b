"""Why a search ended, and when further trials are not worth their time."""

from __future__ import annotations

from enum import Enum
from typing import Any

from mltune.search.expected_gain import ExpectedGain

LITTLE = 0.001
"""A trial from which a smaller share of the time is expected to be saved is not worth it."""

AHEAD = 100
"""Trials that the end of a search looks ahead."""


class StopReason(Enum):
    """What ended the trials of a search."""

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
