"""Trials a minute of one search on one device and on all of a host, each with cold builds.

    python -m tests.benchmarks.device_scaling --budget 160 --sizes 512x512x512,1024x1024x1024

Runs `mltune search` twice with the same question: on the first of the devices that `--device all`
takes, then on all of them, sharing an SQLite file. A rate is that of the trials between the first
and the last measurement of the search, without the start of the processes and the leaders' rounds.
Drivers' caches are empty for each, and Python's own are warm. It needs no network.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from datetime import datetime
from pathlib import Path
from typing import Any

from mltune.measurement import Phase
from mltune.run.run import Run
from mltune.tuning.local_workers import all_devices

_CACHES = ("CUDA_CACHE_PATH", "POCL_CACHE_DIR", "XDG_CACHE_HOME")


def main() -> int:
    """Run both, and print a table."""
    options, more = _options()
    devices = all_devices()
    print(f"{len(devices)} devices: {devices[0].info.name} ({devices[0].info.driver_version})\n")
    print("| devices | trials | failed | seconds | trials/min | of one | best GFLOP/s |")
    print("|---|---|---|---|---|---|---|")
    alone = None
    for spec, count in ((devices[0].number, 1), ("all", len(devices))):
        answer = _search(spec, options, more)
        alone = alone or answer["rate"]
        print(
            f"| {count} | {answer['trials']} | {answer['failed']} | {answer['seconds']:.1f} | "
            f"{answer['rate']:.1f} | {answer['rate'] / alone:.2f} | {answer['best']:.0f} |",
            flush=True,
        )
    return 0


def _search(device: str, options: argparse.Namespace, more: list[str]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        run, storage = Path(name) / "run", f"sqlite:///{name}/all.db"
        caches = {variable: str(Path(name) / variable) for variable in _CACHES}
        for folder in caches.values():
            Path(folder).mkdir()
        done = subprocess.run(
            [
                *(sys.executable, "-m", "mltune", "search", "--json", "--quiet"),
                *("--device", device, "--storage", storage, "--run", str(run)),
                *("--budget", str(options.budget), "--sizes", options.sizes, *more),
            ],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            env=os.environ | caches,
        )
        answer: dict[str, Any] = json.loads(done.stdout)
        with Run.open(run) as opened:
            rows = opened.store.measurements(Phase.SEARCH)
    times = sorted(datetime.fromisoformat(row.timestamp) for row in rows)
    seconds = (times[-1] - times[0]).total_seconds()
    speeds = [math.log(best["gflops"]) for best in answer["best"]]
    return answer | {
        "seconds": seconds,
        "rate": 60 * answer["trials"] / seconds,
        "best": math.exp(math.fsum(speeds) / len(speeds)),
    }


def _options() -> tuple[argparse.Namespace, list[str]]:
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0] if __doc__ else "",
        epilog="Other options are those of mltune search, such as --space and --seed.",
    )
    parser.add_argument("--budget", type=int, default=160)
    parser.add_argument("--sizes", default="512x512x512,1024x1024x1024,2048x2048x2048")
    return parser.parse_known_args()


if __name__ == "__main__":
    sys.exit(main())
