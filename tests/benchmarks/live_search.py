"""Compare samplers on a real device, at equal trials; what they choose is measured again.

    python tests/benchmarks/live_search.py FOLDER --seeds 10 --budget 200

Every search is a run of `mltune search` below FOLDER. After the searches of a seed, the configs
that they chose are measured in turns by one process, so that whatever changes with time meets
all of them alike. What is there already is not done again: the same command goes on where it was
cut off, and more seeds add to it. Prints after every seed, for this and those before it, the
summed time over the sizes of each sampler's choices, and how often the first sampler has the
least. Most of the time is building, which two builders do side by side while nothing is measured.
"""

from __future__ import annotations

import argparse
import csv
import math
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from mltune.problem import Problem
from mltune.problem.sizes import parse_sizes
from mltune.run.run import Run
from mltune.run.run_info import RunInfo
from mltune.space.config import Config
from mltune.tuning.final_selection import choose
from mltune.workflow.run_setup import open_runner

SIZES = (
    "32x32x32,64x64x64,128x128x128,256x256x256,192x192x64,256x16x256,16x256x256,"
    "32x32x256,127x127x127,65x200x129,255x33x250,100x1x256"
)
ANSWERS = "answers.csv"
Choices = Mapping[str, Mapping[Problem, Config]]


def main() -> None:
    """Search, measure again, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--samplers", default="guided,tpe,random")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="of the seeds")
    parser.add_argument("--budget", type=int, default=200)
    parser.add_argument("--sizes", default=SIZES)
    parser.add_argument(
        "--calls",
        type=int,
        default=1000,
        help="of each size: a sampler that minds makes the summed time small; 1: nobody says",
    )
    parser.add_argument("--space", help="in place of the device's default space")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--builders", type=int, default=2)
    parser.add_argument(
        "--also",
        type=Path,
        nargs="*",
        default=[],
        help="runs that are measured beside each seed's",
    )
    parser.add_argument("--rounds", type=int, default=9, help="in which the answers are measured")
    parser.add_argument(
        "--quantile",
        type=float,
        default=0.5,
        help="of a config's samples; less where others use the machine too",
    )
    options = parser.parse_args()
    samplers = options.samplers.split(",")
    shown = [*samplers, *(folder.name for folder in options.also)]
    options.folder.mkdir(parents=True, exist_ok=True)
    answers = options.folder / ANSWERS
    known = _read(answers)
    lacking = [
        seed
        for seed in range(options.first, options.first + options.seeds)
        if any((name, seed) not in known for name in samplers)
    ]
    for seed in lacking:
        folders = {name: options.folder / f"{name}-{seed}" for name in samplers}
        for name, folder in folders.items():
            _search(folder, name, seed, options)
        folders |= {folder.name: folder for folder in options.also}
        choices = {name: _chosen(folder) for name, folder in folders.items()}
        with Run.open(folders[samplers[0]]) as run:
            info = run.info
        _write(answers, seed, _measure(info, choices, options))
        _print(_read(answers), shown)
    if not lacking:
        _print(known, shown)


def _search(folder: Path, sampler: str, seed: int, options: argparse.Namespace) -> None:
    """Run a search, or what is left of it."""
    if (folder / "run.json").exists():
        arguments = ["--resume", "--run", str(folder)]
    else:
        arguments = [
            *("--run", str(folder), "--sampler", sampler, "--seed", str(seed)),
            *("--sizes", _counted(options), "--problem", "sgemm_nn"),
            *("--budget", str(options.budget)),
            *(("--space", options.space) if options.space else ()),
        ]
    command = [sys.executable, "-m", "mltune", "search", "-q", *arguments]
    command += ["--device", options.device, "--builders", str(options.builders)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    print(f"{folder} is searched", flush=True)


def _counted(options: argparse.Namespace) -> str:
    """The sizes, with how often each is called: so the searches know what they are judged by."""
    if options.calls == 1:
        return str(options.sizes)
    path: Path = options.folder / "sizes.csv"
    sizes = [size.extents[:3] for size in parse_sizes(options.sizes)]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("m", "n", "k", "count"))
        writer.writerows((*size, options.calls) for size in sizes)
    return str(path)


def _chosen(folder: Path) -> dict[Problem, Config]:
    with Run.open(folder) as run:
        choices = choose(run.store.measurements())
    return {problem: choice.best.config for problem, choice in choices.items()}


def _measure(
    info: RunInfo, choices: Choices, options: argparse.Namespace
) -> dict[str, dict[Problem, float]]:
    """Return the seconds of each sampler's choice on each size."""
    found: dict[str, dict[Problem, float]] = {name: {} for name in choices}
    problems = next(iter(choices.values()))
    with open_runner(info, options.device, "this run", builders=0) as runner:
        for problem in problems:
            configs = list(dict.fromkeys(chosen[problem] for chosen in choices.values()))
            samples: dict[Config, list[float]] = defaultdict(list)
            for number in range(options.rounds):
                turn = number % len(configs)
                for config in (*configs[turn:], *configs[:turn]):
                    samples[config] += runner.run(problem, config, checked=True).seconds
            for name, chosen in choices.items():
                found[name][problem] = float(
                    np.quantile(samples[chosen[problem]], options.quantile)
                )
    return found


def _write(path: Path, seed: int, found: Mapping[str, Mapping[Problem, float]]) -> None:
    is_new = not path.exists()
    with path.open("a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        if is_new:
            writer.writerow(("sampler", "seed", "size", "seconds"))
        for name, times in found.items():
            writer.writerows((name, seed, p.label, f"{time:.6e}") for p, time in times.items())


def _read(path: Path) -> dict[tuple[str, int], dict[str, float]]:
    """Return the seconds by size of each search that was measured again."""
    found: dict[tuple[str, int], dict[str, float]] = defaultdict(dict)
    if path.exists():
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                found[row["sampler"], int(row["seed"])][row["size"]] = float(row["seconds"])
    return dict(found)


def _print(answers: Mapping[tuple[str, int], Mapping[str, float]], samplers: list[str]) -> None:
    seeds = sorted({seed for _, seed in answers})
    print("\n| seed |" + "".join(f" {name}: ms, summed |" for name in samplers))
    print("|---" * (1 + len(samplers)) + "|")
    summed = {key: 1e3 * math.fsum(times.values()) for key, times in answers.items()}
    for seed in seeds:
        print(f"| {seed} |" + "".join(f" {summed[name, seed]:.3f} |" for name in samplers))
    first, *others = samplers
    for name in others:
        ahead = sum(summed[first, seed] < summed[name, seed] for seed in seeds)
        ratio = _geometric(summed[name, seed] / summed[first, seed] for seed in seeds)
        sizes = _geometric(
            seconds / answers[first, seed][size]
            for seed in seeds
            for size, seconds in answers[name, seed].items()
        )
        print(
            f"{first} before {name}: {ahead} of {len(seeds)} seeds; {name} takes {ratio:.3f} of "
            f"its summed time, {sizes:.3f} by the geometric mean over the sizes",
            flush=True,
        )


def _geometric(ratios: Iterable[float]) -> float:
    return math.exp(np.mean([math.log(ratio) for ratio in ratios]))


if __name__ == "__main__":
    main()
