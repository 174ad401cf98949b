"""Workers of one search that are killed, cut off and made to wait: a share of the long battery."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path


def test_nothing_is_lost_or_doubled_by_killed_workers_and_dropped_connections(
    postgres_programs: Path,
) -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "tests.benchmarks.worker_kills", "--kills=4", "--workers=4"),
            *("--devices=3", "--drops=0.5", "--budget=240"),
        ],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, f"{postgres_programs}\n{done.stdout}\n{done.stderr}"
    kills = re.match(r"(\d+) kills, ", done.stdout)
    assert kills is not None
    assert int(kills[1]) >= 1, "a fast machine may be done before the rest"
