"""Compare searchers on recorded spaces, beside Kernel Tuner's if it is installed.

    python tests/benchmarks/search_replay.py FILE... --seeds 25 --budget 500 \
        --kernel-tuner /path/to/python-with-kernel_tuner -o docs/search

Prints the mean over seeds of optimum / best found after so many distinct evaluations, failures
included, for each space and over the spaces; writes OUT.csv and OUT.svg. The files are Kernel
Tuner caches or T4 results; Kernel Tuner is given each as a plain cache file.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mltune.record.foreign import read_recording
from mltune.record.measurement import Status
from mltune.record.recording import Recording
from mltune.search import SEARCHERS
from mltune.space.recorded import RecordedSpace

MARKS = (10, 25, 50, 100, 200, 500)
STRATEGIES = ("adaptive_tabu_greywolf", "hybrid_vndx")
WORKER = Path(__file__).with_name("kernel_tuner_replay.py")
Curve = NDArray[np.float64]


def curve(recording: Recording, seconds: list[float | None], budget: int) -> Curve:
    """Return optimum / best found after each evaluation."""
    optimum = recording.optimum_seconds
    assert optimum is not None
    times = [math.inf if time is None else time for time in seconds]
    times += [math.inf] * (budget - len(times))
    return optimum / np.minimum.accumulate(times)


def our_curves(recording: Recording, sampler: str, seeds: int, budget: int) -> list[Curve]:
    """Search with one of mltune's searchers, once a seed."""
    points = {point.config: point for point in recording.points}
    space = RecordedSpace(recording.where, points)
    curves = []
    asking: list[float] = []
    for seed in range(seeds):
        searcher = SEARCHERS[sampler](space, seed)
        seconds: list[float | None] = []
        for _ in range(min(budget, space.size)):
            started = time.perf_counter()
            config = searcher.ask()
            asking.append(time.perf_counter() - started)
            assert config is not None
            point = points[config]
            value = (
                math.log(point.seconds) if point.status is Status.OK and point.seconds else None
            )
            searcher.tell(config, value, point.status)
            seconds.append(point.seconds)
        curves.append(curve(recording, seconds, budget))
    print(f"# {sampler}: median {1e3 * float(np.median(asking)):.1f} ms a proposal", flush=True)
    return curves


def peer_curves(
    python: str, recording: Recording, strategy: str, seeds: int, budget: int
) -> list[Curve]:
    """Search with one of Kernel Tuner's strategies, once a seed."""
    names = list(recording.points[0].config)
    values = {name: sorted({p.config.int(name) for p in recording.points}) for name in names}
    cache = {}
    for point in recording.points:
        milliseconds = None if point.seconds is None else point.seconds * 1e3
        cache[",".join(str(point.config[name]) for name in names)] = {
            **point.config,
            "time": milliseconds or "RuntimeFailedConfig",
            **dict.fromkeys(("compile_time", "verification_time", "benchmark_time"), 1),
            **dict.fromkeys(("strategy_time", "framework_time"), 0),
        }
    header = {
        "device_name": recording.device or "recorded",
        "kernel_name": recording.problem or "recorded",
        "problem_size": [1, 1],
        "tune_params_keys": names,
        "tune_params": values,
        "objective": "time",
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cache.json"
        path.write_text(json.dumps({**header, "cache": cache}), encoding="utf-8")
        options = ["--seeds", str(seeds), "--budget", str(budget)]
        done = subprocess.run(
            [python, str(WORKER), str(path), strategy, *options],
            check=True,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return [
        curve(recording, [None if ms is None else ms / 1e3 for ms in row], budget) for row in rows
    ]


def draw(means: dict[str, Curve], path: Path) -> None:
    """Draw the mean over the spaces of each searcher."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4.5))
    for name, mean in means.items():
        style = "-" if name in SEARCHERS else "--"
        axes.plot(np.arange(1, len(mean) + 1), mean, style, label=name)
    axes.set_xscale("log")
    axes.set_xlim(5, None)
    axes.set_ylim(0.5, 1.005)
    axes.set_xlabel("distinct configs evaluated")
    axes.set_ylabel("optimum / best found (mean)")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.tight_layout()
    figure.savefig(path)


def main() -> None:
    """Run all, print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--samplers", default="guided,tpe,evolution,random")
    parser.add_argument("--seeds", type=int, default=25)
    parser.add_argument("--budget", type=int, default=500)
    parser.add_argument("--kernel-tuner", metavar="PYTHON", help="one that has Kernel Tuner")
    parser.add_argument("-o", "--out", type=Path, help="beginning of the files' names")
    args = parser.parse_args()
    marks = [mark for mark in MARKS if mark <= args.budget]
    results: dict[str, dict[str, Curve]] = {}
    for file in args.files:
        recording = read_recording(file)
        name = file.name.split(".")[0]
        for sampler in args.samplers.split(","):
            curves = our_curves(recording, sampler, args.seeds, args.budget)
            results.setdefault(sampler, {})[name] = np.mean(curves, axis=0)
            report(sampler, name, results[sampler][name], marks)
        for strategy in STRATEGIES if args.kernel_tuner else ():
            curves = peer_curves(args.kernel_tuner, recording, strategy, args.seeds, args.budget)
            results.setdefault(strategy, {})[name] = np.mean(curves, axis=0)
            report(strategy, name, results[strategy][name], marks)
    means = {name: np.mean(list(spaces.values()), axis=0) for name, spaces in results.items()}
    for name, mean in means.items():
        results[name]["mean"] = mean
        report(name, "mean", mean, marks)
    if args.out:
        with args.out.with_suffix(".csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(("searcher", "space", *marks))
            for name, spaces in results.items():
                for space, mean in spaces.items():
                    writer.writerow((name, space, *(f"{mean[mark - 1]:.4f}" for mark in marks)))
        draw(means, args.out.with_suffix(".svg"))


def report(name: str, space: str, mean: Curve, marks: list[int]) -> None:
    """Print one line of the table."""
    figures = "  ".join(f"{mark}: {mean[mark - 1]:.3f}" for mark in marks)
    print(f"{name:24} {space:28} {figures}", flush=True)


if __name__ == "__main__":
    main()
