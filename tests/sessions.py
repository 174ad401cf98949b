"""Recorded sessions of PoCL, which tests replay without a driver.

`MLTUNE_RECORD_SESSIONS=1 pytest FILE` records the sessions of a file's tests anew: after a change
of what they ask a device for.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).with_name("recorded_sessions")
IS_RECORDING = bool(os.environ.get("MLTUNE_RECORD_SESSIONS"))


@cache
def session_spec(name: str) -> str:
    """Return the text that chooses the device of a session."""
    path = FOLDER / f"{name}.jsonl"
    if not IS_RECORDING:
        return f"replay:{path}"
    FOLDER.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    return f"record:{path}:Portable Computing Language"
