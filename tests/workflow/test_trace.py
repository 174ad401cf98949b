from __future__ import annotations

from pathlib import Path

from mltune.trace import Seen
from mltune.workflow.trace import TraceResult


def test_calls_that_are_left_out_are_said() -> None:
    seen = Seen(calls=(), processes=1, lost=0, skipped=2, failed=1)
    result = TraceResult(
        program=("a",), output=Path("calls.csv"), program_code=0, seconds=1.0, seen=seen
    )

    assert result.notes == (
        "left out: 2 calls with an empty matrix, or a size that is negative or too large",
        "left out: 1 call that returned an error",
    )
    assert result.to_json()["skipped"] == 2
    assert result.to_json()["failed"] == 1
