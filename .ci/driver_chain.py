"""The whole chain on one OpenCL driver: search, distil, export, the C program, the runtime.

    python .ci/driver_chain.py NAME PART FOLDER [OPTION OF search...]

PART is a part of the platform's name or of the driver's version. Prints a row of a table; ends
with 1 where anything failed, and with 3 where there is no such device, or its driver runs nothing.
With MLTUNE_DRIVERS_QUICK=1 in the environment three trials of single precision have to do.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array

import mltune

IS_QUICK = os.environ.get("MLTUNE_DRIVERS_QUICK") == "1"
PROBLEMS = {"sgemm_nn": "float32"} | ({} if IS_QUICK else {"dgemm_nt": "float64"})
SEARCH = ("--budget", "8", "--sizes", "64x64x64,100x30x50")
QUICK = ("--budget", "3", "--sizes", "100x30x50", "--builders", "1") if IS_QUICK else ()
CHECKED_SIZES = ((64, 64, 64), (100, 30, 50), (7, 201, 33))
NO_DEVICE, SKIPPED = 4, 3


def main(name: str, part: str, folder: Path, *options: str) -> int:
    """Run the chain for single and double precision, and print the row."""
    device = _device(part)
    if device is None:
        return SKIPPED
    begin = time.process_time() + sum(os.times()[2:4])
    cells, failures = [], 0
    for problem, dtype in PROBLEMS.items():
        if dtype == "float64" and not device["fp64"]:
            cells.append(_refusal(problem, device["spec"]))
            continue
        run = folder / problem
        answer = json.loads(
            _mltune(
                *("search", "-q", "--json", "--problem", problem, *SEARCH, *QUICK, *options),
                *("--cross-sizes", "none", "--no-compare", "--device", device["spec"]),
                *("--run", str(run)),
            )
        )
        failures += answer["failed"]
        cells.append(f"{answer['trials']}, {answer['failed']} failed")
        _mltune("distil", str(run), "-o", str(run / "selector.json"))
        _mltune("export", str(run / "selector.json"), "--lang", "c", "-o", str(run / "c"))
        _run_program(run / "c")
        _run_runtime(run / "selector.json", device["spec"], dtype, is_nt=problem.endswith("nt"))
    seconds = time.process_time() + sum(os.times()[2:4]) - begin
    cells += ["not tried"] * (2 - len(cells))
    row = (name, f"{device['platform']} {device['driver_version']}", _clock(device), *cells)
    print(f"| {' | '.join(row)} | right | right | {seconds:.0f} s |")
    return 1 if failures else 0


def _device(part: str) -> dict[str, Any] | None:
    """The first device whose driver is meant, with what is said about it; None if none works."""
    try:
        listed = json.loads(_mltune("devices", "--json"))["devices"]
    except subprocess.CalledProcessError as error:
        if error.returncode != NO_DEVICE:
            raise
        return None
    found = [each for each in listed if part in each["platform"] + each["driver_version"]]
    for device in found[:1]:
        for note in filter(None, (device["problem"], *device["notes"])):
            print(note, file=sys.stderr)
    return found[0] if found and not found[0]["problem"] else None


def _mltune(*words: str) -> str:
    command = [sys.executable, "-m", "mltune", *words]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def _refusal(problem: str, spec: str) -> str:
    """A device without doubles says so in one line."""
    command = [sys.executable, "-m", "mltune", "search", "--problem", problem, "--device", spec]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    said = [line for line in done.stderr.splitlines() if "has no double precision" in line]
    assert done.returncode == NO_DEVICE, done.stderr
    assert len(said) == 1, done.stderr
    return "refused in a line"


def _run_program(folder: Path) -> None:
    subprocess.run(["make", "-s"], cwd=folder, check=True, stdout=sys.stderr)
    for size in CHECKED_SIZES:
        words = ["./example", *map(str, size)]
        done = subprocess.run(words, cwd=folder, check=True, stdout=subprocess.PIPE, text=True)
        assert "right" in done.stdout, done.stdout


def _run_runtime(selector: Path, spec: str, dtype: str, *, is_nt: bool) -> None:
    platform, device = map(int, spec.split(":"))
    context = cl.Context([cl.get_platforms()[platform].get_devices()[device]])
    queue = cl.CommandQueue(context)
    gemm = mltune.load(selector)
    rng = np.random.default_rng(1)
    for m, n, k in CHECKED_SIZES:
        a: Any = rng.random((m, k)).astype(dtype)
        b: Any = rng.random((k, n)).astype(dtype)
        of = cl_array.to_device(queue, np.asfortranarray(a))
        by = cl_array.to_device(queue, b if is_nt else np.asfortranarray(b))
        assert np.allclose(gemm(of, by).get(), a @ b, rtol=1e-4), (m, n, k)


def _clock(device: dict[str, Any]) -> str:
    return "the host's" if device.get("probed", {}).get("launch_ns") else "its own"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), *sys.argv[4:]))
