"""A killed search loses nothing: a few of the kills of `tests/benchmarks/kills.py`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

KILLS = Path(__file__).parents[1] / "benchmarks" / "kills.py"


def test_no_committed_measurement_is_lost_by_sigkill(
    quick_space: Path, device_spec: str, tmp_path: Path
) -> None:
    options = {
        "kills": 3,
        "budget": 12,
        "sizes": "16x16x16,33x17x9",
        "space": quick_space,
        "device": device_spec,
        "sampler": "random",
        "seed": 1,
        "shortest": 0.1,
        "longest": 1.5,
        "folder": tmp_path,
    }
    arguments = [f"--{name}={value}" for name, value in options.items()]

    done = subprocess.run(
        [sys.executable, str(KILLS), *arguments], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 kills in" in done.stdout
