"""Compare samplers on recorded spaces, beside Kernel Tuner's if it is installed.

    python tests/benchmarks/search_replay.py FILE... --seeds 25 --budget 500 \
        --kernel-tuner /path/to/python-with-kernel_tuner -o docs/search

Prints the mean over seeds of optimum / best found after so many distinct evaluations, failures
included, for each space and over the spaces; writes OUT.csv and OUT.svg. The files are Kernel
Tuner caches, T4 results or run folders; Kernel Tuner is given each as a plain cache file.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import subprocess
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import numpy as np
import optuna
from numpy.typing import NDArray

from mltune.measurement.measurement import Status
from mltune.measurement.recording import Recording
from mltune.search.make import make_sampler
from mltune.search.names import SAMPLERS
from mltune.space.config import Config
from mltune.space.recorded import RecordedSpace
from mltune.workflow.recordings import read_any

optuna.logging.set_verbosity(optuna.logging.WARNING)
MARKS = (10, 25, 50, 100, 200, 500)
STRATEGIES = ("adaptive_tabu_greywolf", "hybrid_vndx", "genetic_algorithm")
WORKER = Path(__file__).with_name("kernel_tuner_replay.py")
Curve = NDArray[np.float64]

_WIDTH, _HEIGHT = 720, 440
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 200, 20, 50
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#555555", "#e69f00", "#7a3e9d")
_LOWEST = 0.6
_FIRST = 5


def curve(recording: Recording, seconds: list[float | None], budget: int) -> Curve:
    """Return optimum / best found after each evaluation."""
    optimum = recording.optimum_seconds
    assert optimum is not None
    times = [math.inf if time is None else time for time in seconds]
    times += [math.inf] * (budget - len(times))
    return optimum / np.minimum.accumulate(times)


def our_curves(recording: Recording, sampler: str, seeds: range, budget: int) -> list[Curve]:
    """Search with one of mltune's samplers, once a seed."""
    points = {point.config: point for point in recording.points}
    space = RecordedSpace(recording.where, points)
    curves = []
    asking: list[float] = []
    for seed in seeds:
        made = make_sampler(sampler, space, seed)
        study = optuna.create_study(sampler=made)
        seconds: list[float | None] = []
        for _ in range(min(budget, space.size)):
            started = time.perf_counter()
            trial = study.ask(made.distributions)
            asking.append(time.perf_counter() - started)
            point = points[Config.of(trial.params)]
            if point.status is Status.OK and point.seconds:
                study.tell(trial, point.seconds)
            else:
                study.tell(trial, state=optuna.trial.TrialState.FAIL)
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


def task(file: Path, name: str, args: argparse.Namespace) -> Curve:
    """Return the mean curve of one sampler on one space."""
    recording = read_any(file)
    if name in SAMPLERS:
        seeds = range(args.first_seed, args.first_seed + args.seeds)
        curves = our_curves(recording, name, seeds, args.budget)
    else:
        curves = peer_curves(args.kernel_tuner, recording, name, args.seeds, args.budget)
    mean: Curve = np.mean(curves, axis=0)
    return mean


def draw(curves: dict[str, Curve]) -> str:
    """Return a picture of curves that begin at the first evaluation."""
    last = max(len(curve) for curve in curves.values())
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        'font-family="sans-serif" font-size="13">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
    ]
    for level in np.arange(_LOWEST, 1.001, 0.05):
        y = _y(float(level))
        parts.append(
            f'<path d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}" stroke="#ddd"/>'
            f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{level:.2f}</text>'
        )
    for mark in (5, 10, 25, 50, 100, 200, 500, 1000):
        if mark <= last:
            x, below = _x(mark, last), _HEIGHT - _BOTTOM + 18
            parts.append(
                f'<path d="M{x:.1f} {_TOP}V{_HEIGHT - _BOTTOM}" stroke="#ddd"/>'
                f'<text x="{x:.1f}" y="{below}" text-anchor="middle">{mark}</text>'
            )
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    parts.append(
        f'<text x="{middle}" y="{_HEIGHT - 10}" text-anchor="middle">distinct configs tried</text>'
        f'<text transform="translate(16 {_HEIGHT / 2}) rotate(-90)" text-anchor="middle">'
        "optimum / best found, mean</text>"
    )
    for number, (name, curve) in enumerate(curves.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        points = " ".join(
            f"{_x(step, last):.1f},{_y(float(value)):.1f}"
            for step, value in enumerate(curve, start=1)
            if step >= _FIRST and value >= _LOWEST
        )
        y = _TOP + 20 + 22 * number
        x = _WIDTH - _RIGHT + 14
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>'
            f'<path d="M{x} {y - 4}h22" stroke="{colour}" stroke-width="3"/>'
            f'<text x="{x + 28}" y="{y}">{name}</text>'
        )
    return "\n".join((*parts, "</svg>\n"))


def _x(step: int, last: int) -> float:
    share = math.log(step / _FIRST) / math.log(last / _FIRST)
    return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)


def _y(value: float) -> float:
    return _TOP + (1 - value) / (1 - _LOWEST) * (_HEIGHT - _TOP - _BOTTOM)


def main() -> None:
    """Run all, print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--samplers", default="guided,tpe,evolution,random")
    parser.add_argument("--seeds", type=int, default=25)
    parser.add_argument("--first-seed", type=int, default=0, help="of mltune's samplers")
    parser.add_argument("--budget", type=int, default=500)
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--kernel-tuner", metavar="PYTHON", help="one that has Kernel Tuner")
    parser.add_argument("-o", "--out", type=Path, help="beginning of the files' names")
    args = parser.parse_args()
    marks = [mark for mark in MARKS if mark <= args.budget]
    names = args.samplers.split(",") + list(STRATEGIES if args.kernel_tuner else ())
    results: dict[str, dict[str, Curve]] = {name: {} for name in names}
    with ProcessPoolExecutor(args.jobs) as pool:
        tasks = {
            pool.submit(task, file, name, args): (name, file.name.split(".")[0])
            for name in names
            for file in args.files
        }
        for done in as_completed(tasks):
            name, space = tasks[done]
            results[name][space] = done.result()
            report(name, space, results[name][space], marks)
    means = {name: np.mean(list(spaces.values()), axis=0) for name, spaces in results.items()}
    for name, mean in means.items():
        results[name]["mean"] = mean
        report(name, "mean", mean, marks)
    if args.out:
        with args.out.with_suffix(".csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(("sampler", "space", *marks))
            for name, spaces in results.items():
                for space, mean in spaces.items():
                    writer.writerow((name, space, *(f"{mean[mark - 1]:.4f}" for mark in marks)))
        args.out.with_suffix(".svg").write_text(draw(means), encoding="utf-8")


def report(name: str, space: str, mean: Curve, marks: list[int]) -> None:
    """Print one line of the table."""
    figures = "  ".join(f"{mark}: {mean[mark - 1]:.3f}" for mark in marks)
    print(f"{name:24} {space:28} {figures}", flush=True)


if __name__ == "__main__":
    main()
