"""How much of the leaders' cross-benchmark has to be measured: replay of runs that have it whole.

    python tests/benchmarks/leader_pairs.py RUN... --seeds 2

A quarter of the sizes is held out. The leaders are timed on the others in four ways: on all, on
random sizes that make up the same share of the pairs, in random pairs, and as `LeaderChoice` says.
Prints the share of the pairs that were timed, then the speed over the best known one, as
geometric means: of the fastest kernel that was timed on a size, and on sizes held out of the
formulas that `distil` makes of these times, and of what the model expects to be the fastest.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mltune.device_info import DeviceInfo
from mltune.distil import TimeTable
from mltune.distil.fit import Settings
from mltune.distil.formulas import fit_formulas
from mltune.distil.table import Size
from mltune.distil.traffic import memory_of
from mltune.measurement import Measurement, Phase
from mltune.problem import Problem
from mltune.tuning.leader_choice import LeaderChoice, spread_out
from mltune.tuning.leader_model import LeaderModel
from mltune.tuning.trial import Trial, group_trials
from mltune.workflow.expected_times import with_expected
from mltune.workflow.recorded import read_runs

Rows = dict[tuple[Problem, str], Measurement]


def size_of(problem: Problem) -> Size:
    """The size, in the form that time tables use."""
    return Size(problem.m, problem.n, problem.k, problem.batch)


def median_of(rows: list[Measurement]) -> Measurement:
    """The row with the median time."""
    return sorted(rows, key=lambda row: row.median or 0.0)[len(rows) // 2]


class Whole:
    """A run in which all leaders were timed on all sizes."""

    def __init__(self, folder: Path) -> None:
        recorded = read_runs((folder,))
        self.device: DeviceInfo = recorded.device
        rows = [row for row in recorded.measurements if row.phase == Phase.FINAL]
        table = TimeTable.from_measurements(rows)
        whole = np.isfinite(table.seconds).all(axis=0)
        self.table = table.only(np.flatnonzero(whole).tolist())
        names = {kernel.name for kernel in self.table.kernels}
        found: dict[tuple[Problem, str], list[Measurement]] = {}
        for row in rows:
            if row.kernel in names:
                found.setdefault((row.problem, row.kernel), []).append(row)
        self.rows: Rows = {pair: median_of(some) for pair, some in found.items()}
        by_size = {size_of(problem): problem for problem, _ in self.rows}
        self.problems = [by_size[size] for size in self.table.sizes]
        trials = group_trials(r for r in recorded.measurements if r.phase == Phase.SEARCH)
        by_config = {trial.config: trial for trial in trials}
        self.leaders: list[Trial] = [by_config[k.config] for k in self.table.kernels]
        contraction = recorded.contraction
        self.settings = Settings.of(
            contraction,
            max_kernels=16,
            compute_units=self.device.compute_units,
            memory=memory_of(self.device, contraction),
        )

    def chosen(self, order: Sequence[int]) -> tuple[list[Measurement], float]:
        """Time the leaders that the choice names, and return how long it computed."""
        choice = LeaderChoice(self.leaders, self.problems, self.device)
        found = []
        began = time.process_time()
        for problem in spread_out([self.problems[place] for place in order]):
            while (trial := choice.next(problem)) is not None:
                row = self.rows[problem, trial.measurements[0].kernel]
                choice.note(row)
                found.append(row)
        return found, time.process_time() - began

    def judge(self, rows: Iterable[Measurement], held_out: Sequence[int]) -> tuple[float, ...]:
        """Judge the times of some pairs."""
        rows = list(rows)
        table = with_expected(TimeTable.from_measurements(rows, chosen=True), rows, self.device)
        best = dict(zip(self.table.sizes, self.table.best, strict=True))
        timed = [np.log(best[s] / t) for s, t in zip(table.sizes, table.best, strict=True)]
        test = self.table.take(held_out)
        rule = fit_formulas(table, self.settings).losses(test)
        return float(np.exp(np.mean(timed))), float(np.exp(-rule.mean())), self._first(rows, test)

    def _first(self, rows: Sequence[Measurement], test: TimeTable) -> float:
        """The geometric mean of best time / time of the model's first choice."""
        names = [kernel.name for kernel in self.table.kernels]
        seconds = np.full(self.table.seconds.shape, np.nan)
        places = {problem: place for place, problem in enumerate(self.problems)}
        for row in rows:
            seconds[places[row.problem], names.index(row.kernel)] = row.median
        configs = [kernel.config for kernel in self.table.kernels]
        model = LeaderModel(names, configs, self.problems, self.device)
        asked = [self.table.sizes.index(size) for size in test.sizes]
        logs = model.learn(seconds).expect(asked).logs
        losses = test.losses(logs.argmin(axis=1))
        return float(np.exp(-losses.mean()))


def compare(whole: Whole, seed: int) -> dict[str, tuple[float, ...]]:
    """Judge the four ways on one split."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(whole.problems)).tolist()
    count = len(order) // 4
    held_out, known = sorted(order[:count]), order[count:]
    names = [kernel.name for kernel in whole.table.kernels]
    pairs = [(place, name) for place in known for name in names]

    def of(some: Iterable[tuple[int, str]]) -> list[Measurement]:
        return [whole.rows[whole.problems[place], name] for place, name in some]

    chosen, seconds = whole.chosen(known)
    share = len(chosen) / len(pairs)
    drawn: NDArray[np.intp] = rng.permutation(len(pairs))[: len(chosen)]
    fewer = known[: max(2, round(share * len(known)))]
    ways = {
        "all": of(pairs),
        "some sizes": of((place, name) for place in fewer for name in names),
        # Each size has one at least.
        "random pairs": of({*dict(pairs).items(), *(pairs[number] for number in drawn)}),
        "chosen": chosen,
    }
    judged = {
        way: (
            len({(r.problem, r.kernel) for r in rows}) / len(pairs),
            *whole.judge(rows, held_out),
        )
        for way, rows in ways.items()
    }
    judged["chosen"] += (seconds,)
    return judged


def main() -> None:
    """Print a line for each run, split and way, and the means."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--first-seed", type=int, default=0)
    args = parser.parse_args()
    means: dict[str, list[tuple[float, ...]]] = {}
    for folder in args.runs:
        whole = Whole(folder)
        for seed in range(args.first_seed, args.first_seed + args.seeds):
            for way, found in compare(whole, seed).items():
                means.setdefault(way, []).append(found[:4])
                print(f"{folder.name:40} {seed:3} {way:12} {line(found)}", flush=True)
    for way, some in means.items():
        print(f"{'mean':40}     {way:12} {line(np.mean(some, axis=0).tolist())}")


def line(found: Sequence[float]) -> str:
    """Return one line of figures."""
    timed, best, rule, first, *seconds = found
    thought = f", chosen in {seconds[0]:.1f} s" if seconds else ""
    return f"timed {timed:.3f}: best {best:.4f}, rule {rule:.4f}, model {first:.4f}{thought}"


if __name__ == "__main__":
    main()
