"""Compare samplers on recorded runs of many sizes: what the library of the best configs takes.

    python tests/benchmarks/library_replay.py RUN... --seeds 10 -o docs/library

Each trial is a config, timed on the sizes that the sampler wants; the library uses, on each
size, the best config that was timed there. Prints, after so many trials, mean over the seeds,
two ratios to what the recorded configs would allow: the summed time of the library, and the
geometric mean over the sizes of its times (and the least of it over the seeds); and how many
(config, size) pairs were timed. Only configs that were measured on all sizes of a run in its
search are used. Writes OUT.csv and a picture of the summed times for each run.
"""

from __future__ import annotations

import argparse
import csv
import math
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import optuna
from numpy.typing import NDArray
from search_replay import draw  # type: ignore[import-not-found]  # lies beside this file

from mltune.measurement import Phase
from mltune.run.run import Run
from mltune.search.make import make_sampler
from mltune.search.sampler import SIZES, ConfigSampler
from mltune.space.config import Config
from mltune.space.config_space import ConfigSpace
from mltune.space.recorded import RecordedSpace
from mltune.tuning.trial import group_trials

MARKS = (25, 50, 100, 150, 200, 250)
Table = NDArray[np.float64]
Make = Callable[[ConfigSpace, int, tuple[int, ...]], ConfigSampler]


@dataclass(frozen=True)
class Curves:
    """After each trial: both ratios, and the share of the pairs that were timed.

    Attributes:
        least: `relative` of the seed that has least of it.
    """

    summed: Table
    relative: Table
    least: Table
    timed: Table


class Search:
    """A study with a sampler.

    A sampler that plans no sizes hears the geometric mean over all of them.
    """

    def __init__(self, sampler: ConfigSampler, count: int) -> None:
        self._study = optuna.create_study(sampler=sampler)
        self._distributions = sampler.distributions
        self._count = count

    def ask(self) -> tuple[optuna.Trial, Config, tuple[int, ...]]:
        """Return a trial, its config, and the sizes that it is to be timed on."""
        trial = self._study.ask(self._distributions)
        sizes = trial.user_attrs.get(SIZES, range(self._count))
        return trial, Config.of(trial.params), tuple(sizes)

    def tell(self, trial: optuna.Trial, seconds: Mapping[int, float]) -> None:
        """Tell the study a trial's times by size."""
        for size, value in seconds.items():
            trial.report(value, size)
        if len(seconds) < self._count:
            self._study.tell(trial, state=optuna.trial.TrialState.PRUNED)
        else:
            self._study.tell(trial, math.exp(np.log([*seconds.values()]).mean()))


def one_value(name: str) -> Make:
    """Return what makes a sampler that learns only one value for each trial."""
    return lambda space, seed, counts: make_sampler(name, space, seed)


SEARCHES: dict[str, Make] = {
    "guided": lambda space, seed, counts: make_sampler("guided", space, seed, counts=counts),
    "guided by one mean": one_value("guided"),
    "tpe": one_value("tpe"),
    "evolution": one_value("evolution"),
    "random": one_value("random"),
}


def read(folder: Path) -> tuple[dict[Config, Table], tuple[int, ...]]:
    """Return the seconds of each config by size, and how often each size is called."""
    with Run.open(folder) as run:
        problems = run.info.problems
        trials = group_trials(run.store.measurements(Phase.SEARCH))
        counts = tuple(size.count for size in run.info.sizes)
    table = {}
    for trial in trials:
        times = {m.problem: m.median for m in trial.measurements}
        row = [times.get(problem) for problem in problems]
        if all(row):
            table[trial.config] = np.array(row, dtype=np.float64)
    return table, counts


def replay(
    folder: Path, name: str, seed: int, budget: int, by_seconds: bool
) -> tuple[Curves, float]:
    """Search once; return the curves and the median seconds of a proposal."""
    table, counts = read(folder)
    weights = np.array(counts, dtype=np.float64)
    if by_seconds:
        # Counts that differ by next to nothing: the summed time is the objective.
        counts = tuple(10**6 * count + (number == 0) for number, count in enumerate(counts))
    sampler = SEARCHES[name](RecordedSpace(str(folder), table), seed, counts)
    search = Search(sampler, len(counts))
    optimum = np.min([*table.values()], axis=0)
    best = np.full(len(counts), np.inf)
    rows: list[tuple[float, float, float, float]] = []
    asking, timed = [], 0
    for number in range(min(budget, len(table))):
        started = time.perf_counter()
        trial, config, sizes = search.ask()
        asking.append(time.perf_counter() - started)
        seconds = table[config]
        search.tell(trial, {size: float(seconds[size]) for size in sizes})
        best[[*sizes]] = np.minimum(best, seconds)[[*sizes]]
        timed += len(sizes)
        summed = (weights @ optimum) / (weights @ best)
        relative = math.exp(np.log(optimum / best).mean())
        rows.append((summed, relative, relative, timed / (number + 1) / len(counts)))
    columns = np.array(rows).T
    return Curves(*columns), float(np.median(asking))


def task(folder: Path, name: str, args: argparse.Namespace) -> tuple[Curves, float]:
    """Search once a seed; return the mean curves."""
    seeds = range(args.first_seed, args.first_seed + args.seeds)
    found = [replay(folder, name, seed, args.budget, args.by_seconds) for seed in seeds]
    parts = zip(*((one.summed, one.relative, one.timed) for one, _ in found), strict=True)
    summed, relative, timed = (np.mean(part, axis=0) for part in parts)
    least = np.min([one.least for one, _ in found], axis=0)
    curves = Curves(summed, relative, least, timed)
    return curves, float(np.median([seconds for _, seconds in found]))


def main() -> None:
    """Run all, print and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--searches", default=",".join(SEARCHES))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--budget", type=int, default=250)
    parser.add_argument(
        "--by-seconds", action="store_true", help="the summed time is searched for"
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("-o", "--out", type=Path, help="beginning of the files' names")
    args = parser.parse_args()
    marks = [mark for mark in MARKS if mark <= args.budget]
    lines = []
    pictures: dict[str, dict[str, Table]] = {folder.name: {} for folder in args.runs}
    with ProcessPoolExecutor(args.jobs) as pool:
        tasks = {
            pool.submit(task, folder, name, args): (folder, name)
            for folder in args.runs
            for name in args.searches.split(",")
        }
        for done in as_completed(tasks):
            folder, name = tasks[done]
            curves, seconds = done.result()
            for what, curve in vars(curves).items():
                figures = [f"{curve[mark - 1]:.4f}" for mark in marks if mark <= len(curve)]
                lines.append((folder.name, name, what, *figures))
                print(f"{folder.name:36} {name:20} {what:9}", "  ".join(figures), flush=True)
            print(f"# {name}: {1e3 * seconds:.1f} ms a proposal", flush=True)
            pictures[folder.name][name] = curves.summed
    if args.out:
        for run, curves_by_name in pictures.items():
            path = args.out.with_name(f"{args.out.name}-{run}.svg")
            ordered = {name: curves_by_name[name] for name in args.searches.split(",")}
            path.write_text(draw(ordered), encoding="utf-8")
        with args.out.with_suffix(".csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([("run", "search", "what", *marks), *sorted(lines)])


if __name__ == "__main__":
    main()
