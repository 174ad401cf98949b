"""Recorded sessions of PoCL, which tests replay without a driver.

`MLTUNE_RECORD_SESSIONS=1 pytest -n 0 FILE...` records the sessions of these files' tests again.
This is necessary when tests ask the device for something new. Give all files that share a session
together.
"""

from __future__ import annotations

import gzip
import json
import os
from collections import Counter
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).with_name("recorded_sessions")
_MOST_TIMES = 40  # of a launch
IS_RECORDING = bool(os.environ.get("MLTUNE_RECORD_SESSIONS"))


@cache
def session_spec(name: str) -> str:
    """Return the text that chooses the device of a session."""
    if not IS_RECORDING:
        return f"replay:{FOLDER / name}.jsonl.gz"
    path = FOLDER / f"{name}.jsonl"
    path.unlink(missing_ok=True)
    return f"record:{path}:Portable Computing Language"


def pack_sessions() -> None:
    """Remove duplicates from recorded sessions, and times that no test asks for."""
    for path in FOLDER.glob("*.jsonl"):
        lines: dict[str, None] = {}
        counts: Counter[str] = Counter()
        for line in path.read_text(encoding="utf-8").splitlines():
            document = json.loads(line)
            if times := document.get("times"):
                counts.update(key for key, *_ in times)
                document["times"] = [each for each in times if counts[each[0]] <= _MOST_TIMES]
                line = json.dumps(document) if document["times"] else ""
            lines[line] = None
        packed = "\n".join(filter(None, lines)) + "\n"
        path.with_suffix(".jsonl.gz").write_bytes(gzip.compress(packed.encode(), mtime=0))
        path.unlink()
