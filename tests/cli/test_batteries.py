"""Short versions of the long batteries in tests/benchmarks, so that they keep working."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_BENCHMARKS = Path(__file__).parents[1] / "benchmarks"

# On a busy machine two healthy configs that are timed once may change places, so only the
# benchmark checks which one wins.
_HOSTILE = ("--trials=7", "--faults=4", "--run-timeout=2", "--kills=1", "--any-winner")


@pytest.mark.parametrize(
    ("script", "arguments", "words"),
    [
        pytest.param(
            "cuts.py",
            ("--kills=2", "--damages=8", "--rows=40"),
            "nothing lost",
            marks=pytest.mark.long,
        ),
        pytest.param("fuzz.py", ("--inputs=200",), "0 broke a rule", marks=pytest.mark.long),
        pytest.param("hostile.py", _HOSTILE, "blamed: 0", marks=pytest.mark.device),
    ],
)
def test_a_share_of_the_battery_holds(script: str, arguments: tuple[str, ...], words: str) -> None:
    done = subprocess.run(
        [sys.executable, str(_BENCHMARKS / script), *arguments],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert words in done.stdout
