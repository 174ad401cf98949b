"""Is any trial wasted on what a smaller device cannot run? Searches on a device cut down.

    python tests/benchmarks/emulated_limits.py --budget 60 --device cpu -o FOLDER

Each set of limits has a search of random configs in the spaces that `auto` takes for processors,
and one in those for GPUs; then `distil`, and the runtime is compared with numpy. Prints a row of a
table for each search, and ends with 1 if any measurement failed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np

import mltune
from mltune.measurement import Status
from mltune.run.run import Run

LIMITS = (
    "local=16K",
    "group=64",
    "group=256",
    "flat",
    "alloc=64M",
    "nofp64",
    "wave=32",
    "wave=64",
    "bits=32",
    "cl11",
    "hostclock",
    "local=16K,group=64,flat,alloc=64M,nofp64,wave=32,bits=32,cl11,hostclock",
)
SPACES = {"cpu": "auto", "gpu": "tiled-gpu,direct,small,small-vectors"}
PROBLEMS = {"cpu": ("sgemm_nn", "dgemm_tn"), "gpu": ("sgemm_nt", "dgemm_nn")}
SIZES = "24x17x9,64x64x64,1000x3x700"
LARGE = "2100x2100x40"  # shared sums of it are more than 64 MB
CHECKED = ((64, 64, 64), (7, 201, 33))


def main() -> int:
    """Search, distil and multiply on each smaller device; print a table."""
    options = _options()
    failed = 0
    print("| limits | spaces | problem | trials | launch errors | other failures | runtime |")
    print("|---|---|---|---|---|---|---|", flush=True)
    for number, limits in enumerate(options.limits or LIMITS):
        for kind, spaces in SPACES.items():
            problem = PROBLEMS[kind]["nofp64" not in limits and number % 2]
            if "flat" in limits:  # `auto` leaves out what has no config there
                spaces = spaces.removeprefix("tiled-gpu,")
            device = f"limited:{limits}:{options.device}"
            run = options.folder / f"{limits}-{kind}"
            sizes = f"{SIZES},{LARGE}" if "alloc" in limits else SIZES
            trials = _search(run, device, problem, spaces, sizes, options.budget)
            statuses = _statuses(run)
            errors, others = statuses.pop(Status.LAUNCH_ERROR, 0), statuses.total()
            failed += errors + others
            words = ", ".join(f"{count} {status.value}" for status, count in statuses.items())
            right = _multiply(run, problem)
            row = (limits, kind, problem, trials, errors, words or "0", right)
            print(f"| {' | '.join(map(str, row))} |", flush=True)
    return 1 if failed else 0


def _search(run: Path, device: str, problem: str, spaces: str, sizes: str, budget: int) -> int:
    words = ["search", "-q", "--json", "--run", str(run), "--device", device]
    words += ["--problem", problem, "--sizes", sizes, "--budget", str(budget), "--seed", "1"]
    words += [
        "--sampler",
        "random",
        "--cross-sizes",
        "none",
        "--no-compare",
        "--run-timeout",
        "100",
    ]
    words += ["--space", spaces]
    command = [sys.executable, "-m", "mltune", *words]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return int(json.loads(done.stdout)["trials"])


def _statuses(run: Path) -> Counter[Status]:
    """Count the failed measurements by their status."""
    with Run.open(run) as opened:
        found = Counter(each.status for each in opened.store.measurements())
    del found[Status.OK]
    return found


def _multiply(run: Path, problem: str) -> str:
    """Distil, and compare the runtime's products with numpy's."""
    selector = run / "selector.json"
    command = [sys.executable, "-m", "mltune", "distil", "-q", str(run), "-o", str(selector)]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    gemm = mltune.load(selector)
    rng = np.random.default_rng(1)
    for m, n, k in CHECKED:
        dtype = "float32" if problem[0] == "s" else "float64"
        a, b = rng.random((m, k)).astype(dtype), rng.random((k, n)).astype(dtype)
        of = np.ascontiguousarray(a) if problem[-2] == "t" else np.asfortranarray(a)
        by = np.ascontiguousarray(b) if problem[-1] == "t" else np.asfortranarray(b)
        np.testing.assert_allclose(gemm(of, by), a @ b, rtol=1e-4)
    return "right"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("limits", nargs="*", help="sets of limits (default: all)")
    parser.add_argument("--budget", type=int, default=60, help="trials of a search")
    parser.add_argument("--device", default="cpu", help="the device that is cut down")
    parser.add_argument("-o", "--folder", type=Path, required=True, help="of the runs")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
