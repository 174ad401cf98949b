"""Compare searches of several spaces together on recorded runs: the speed of the library.

    python -m tests.benchmarks.union_replay RUN[+RUN...]... [--seeds 8] [--whole]

    R=runs/2026-11-25-sgemm  # the figures of docs/search.md
    python -m tests.benchmarks.union_replay --whole --seeds 6 \\
        runs/2026-11-25-hgemm-nn-nvidia-h100-wide $R-nt-nvidia-h100+$R-nt-nvidia-h100-2 \\
        $R-tn-nvidia-h100+$R-tn-nvidia-h100-2 $R-tt-nvidia-h100+$R-tt-nvidia-h100-2

Runs joined by `+` are one table: of one device and problem type, on the sizes of the first run.
The union has the spaces of that run, each with the configs that were tried there. A config's time
on a size is the recorded one; where there is none, that of a cost model of all measurements of
the runs, but at least 1.02 times the best recorded one. With `--whole` the spaces are whole, and
the cost model, with chance, answers for the other configs. Prints, after so many seconds and
trials, the geometric mean over the sizes of the best recorded time / the library's time: its mean
over the seeds, and the standard error. The seconds are modelled.
"""

from __future__ import annotations

import argparse
import math
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mltune.cost_model.model import BoostedModel
from mltune.cost_model.train import fit
from mltune.measurement import Measurement, Phase, Status
from mltune.problem import Problem
from mltune.run.run import Run
from mltune.run.run_info import RunInfo
from mltune.search.make import make_sampler
from mltune.space.config import Config, Value
from mltune.space.ranks import Ranks, configs_of
from mltune.space.space import Space
from mltune.space.union import UnionSpace, with_family, without_family
from mltune.tuning.study import Proposal
from mltune.workflow.chosen_spaces import bound_space
from tests.studies import Asked

SECONDS = (2, 4, 6, 8, 12, 16)
TRIALS = (15, 25, 50, 75, 100, 150, 200)
Table = NDArray[np.float64]

_LUCK = 0.1
"""The standard deviation of the log of a config's level that no model knows, with `--whole`."""

_NEVER = 1.0
"""The seconds of a size on which nothing was timed yet."""


_A_TRIAL, _A_TIMING = 0.035, 0.009
"""Seconds of a trial, and of each size in it, besides the launches of the kernel: fitted to the
timestamps of searches on an H100 and an H200.
"""
_LAUNCHES, _FEW_LAUNCHES, _LOSES = 20, 6, 1.3
"""Launches for a time, also the untimed ones; and those of a kernel that is slower by this factor.
"""


class Tried:
    """The configs of a space that were tried; a member of a union.

    Args:
        space: the whole one.
        configs: of it.
    """

    def __init__(self, space: Space, configs: Sequence[Config]) -> None:
        self.name, self.family, self.parameters = space.name, space.family, space.parameters
        self._space, self._configs, self._set = space, tuple(configs), frozenset(configs)
        self.default = space.default if space.default in self._set else None
        self.size = len(self._configs)

    def __contains__(self, config: object) -> bool:
        return config in self._set

    def __iter__(self) -> Iterator[Config]:
        return iter(self._configs)

    def at(self, index: int) -> Config:
        """Return the config at an index."""
        return self._configs[index]

    def allowed(self, ranks: Ranks) -> NDArray[np.bool_]:
        """Mark the rows of ranks that were tried."""
        return np.array([one in self._set for one in configs_of(self.parameters, ranks)], np.bool_)

    def derived(self, ranks: Ranks) -> dict[str, Table]:
        """Return the derived values of the whole space."""
        return self._space.derived(ranks)

    def sample(self, rng: np.random.Generator, count: int) -> tuple[Config, ...]:
        """Draw distinct configs."""
        chosen = rng.choice(self.size, min(count, self.size), replace=False)
        return tuple(self._configs[index] for index in chosen)

    def near(self, values: Mapping[str, Value], count: int) -> tuple[Config, ...]:
        """No sampler here asks for it."""
        raise NotImplementedError


@dataclass(frozen=True)
class Recorded:
    """Seconds of configs, which name their family, by size; infinite if it failed."""

    info: RunInfo
    problems: tuple[Problem, ...]
    space: UnionSpace
    seconds: dict[Config, Table]
    best: Table
    model: BoostedModel

    def answer(self, config: Config) -> Table:
        """Return the seconds of any config of the whole spaces."""
        known = self.seconds.get(config)
        if known is None:
            chance = np.random.default_rng(int(config.id, 16))
            luck = chance.normal(0, _LUCK) + chance.normal(0, _LUCK / 3, len(self.problems))
            known = np.exp(self.expected([config])[0] + luck)
        return known

    def expected(self, configs: Sequence[Config]) -> Table:
        """Return the cost model's logs of seconds, by config and size."""
        bare = [without_family(config) for config in configs]
        asked = [(problem, bare) for problem in self.problems]
        return self.model.predict_all(asked).reshape(len(self.problems), len(bare)).T


@lru_cache(maxsize=1)
def read(names: str, *, whole: bool) -> Recorded:
    """Read runs as one table."""
    folders = [Path(name) for name in names.split("+")]
    rows: list[Measurement] = []
    for folder in folders:
        with Run.open(folder) as run:
            if folder == folders[0]:
                info = run.info
            rows += run.store.measurements(Phase.SEARCH)
            rows += run.store.measurements(Phase.FINAL)
    problems = info.problems
    union = bound_space(info)
    assert isinstance(union, UnionSpace)
    model = fit([row for row in rows if row.status is Status.OK], info.device, folds=0)
    place = {problem: number for number, problem in enumerate(problems)}
    logs: dict[Config, list[list[float]]] = {}
    failed: set[Config] = set()
    for row in rows:
        config = with_family(row.config, row.family)
        if row.status is not Status.OK:
            failed.add(config)
        elif row.problem in place and row.median is not None:
            cells = logs.setdefault(config, [[] for _ in problems])
            cells[place[row.problem]].append(math.log(row.median))
    known = [config for config, cells in logs.items() if any(cells) and config in union]
    table = np.array(
        [[np.median(cell) if cell else np.nan for cell in logs[config]] for config in known]
    )
    best = np.nanmin(table, axis=0)
    found = Recorded(info, problems, union, {}, np.exp(best), model)
    expected = found.expected(known)
    level = np.nanmean(table - expected, axis=1)
    filled = np.maximum(expected + level[:, None], best + math.log(1.02))
    table = np.where(np.isnan(table), filled, table)
    seconds = dict(zip(known, np.exp(table), strict=True))
    for config in failed:
        if config in union:
            seconds.setdefault(config, np.full(len(problems), math.inf))
    if not whole:
        members = []
        for member in union.members:
            assert isinstance(member, Space)
            own = [config for config in seconds if config in member]
            if own:
                members.append(Tried(member, own))
        union = UnionSpace(union.name, members)
    return replace(found, space=union, seconds=seconds)


def replay(
    names: str, seed: int, seconds: float, ahead: int, sampler: str, whole: bool
) -> tuple[Table, Table, float]:
    """Search once; return the library's speed and the seconds after each trial.

    The last number is the seconds of processor time of a proposal.
    """
    data = read(names, whole=whole)
    count = len(data.problems)
    known = {"counts": [1] * count, "problems": data.problems} if sampler == "guided" else {}
    made = make_sampler(sampler, data.space, seed, **known)  # type: ignore[arg-type]
    asked = Asked(made, count)
    best = np.full(count, np.inf)
    queue: deque[Proposal] = deque()
    speeds: list[float] = []
    spent = [0.0]
    took = 0.0
    while spent[-1] < seconds:
        began = time.process_time()
        while len(queue) < 1 + ahead and (proposal := asked.ask()) is not None:
            queue.append(proposal)
        took += time.process_time() - began
        proposal = queue.popleft()
        answer = data.answer(proposal.config)
        asked.study.begin(proposal, proposal.number)
        found: dict[int, float] = {}
        for size in asked.sizes(proposal):
            if not math.isfinite(answer[size]) or (found and proposal.should_prune()):
                break
            found[size] = float(answer[size])
            proposal.report(size, found[size])
        asked.finish(proposal, found, Status.OK if found else Status.BUILD_ERROR)
        for size, value in found.items():
            best[size] = min(best[size], value)
        speeds.append(math.exp(np.log(data.best / np.minimum(best, _NEVER)).mean()))
        kernels = math.fsum(
            (_FEW_LAUNCHES if value > _LOSES * best[size] else _LAUNCHES) * value
            for size, value in found.items()
        )
        spent.append(spent[-1] + _A_TRIAL + _A_TIMING * len(found) + kernels)
    return np.array(speeds), np.array(spent[1:]), took / len(speeds)


def main() -> None:
    """Run all, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("runs", nargs="+", help="RUN or RUN+RUN")
    parser.add_argument("--sampler", default="guided")
    parser.add_argument("--seeds", type=int, default=8, help="two or more")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=16.0, help="of the device, modelled")
    parser.add_argument("--ahead", type=int, default=8, help="proposals that wait meanwhile")
    parser.add_argument("--whole", action="store_true", help="search the whole spaces")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    args = parser.parse_args()
    seeds = range(args.first_seed, args.first_seed + args.seeds)
    labels: list[str] = []
    by_time: list[Table] = []
    by_trial: list[Table] = []
    with ProcessPoolExecutor(args.jobs) as pool:
        tasks = {
            (names, seed): pool.submit(
                replay, names, seed, args.seconds, args.ahead, args.sampler, args.whole
            )
            for names in args.runs
            for seed in seeds
        }
        for names in args.runs:
            found = [tasks[names, seed].result() for seed in seeds]
            first = Path(names.split("+")[0]).name
            labels.append(first[:43].ljust(44))
            by_time.append(np.array([_at(each, spent, SECONDS) for each, spent, _ in found]))
            by_trial.append(
                np.array(
                    [_at(each, np.arange(1.0, 1 + len(each)), TRIALS) for each, _, _ in found]
                )
            )
            count = np.mean([len(each) for each, _, _ in found])
            took = np.mean([each for _, _, each in found])
            print(f"{first}: {count:.0f} trials, {1e3 * took:.1f} ms a proposal", flush=True)
    for unit, marks, tables in (("seconds", SECONDS, by_time), ("trials", TRIALS, by_trial)):
        print(f"after {unit}:".ljust(44), *(f"{mark:>14}" for mark in marks))
        for label, table in zip(labels, tables, strict=True):
            print(label, *_cells(table))
        print("mean of all".ljust(44), *_cells(np.mean(tables, axis=0)))


def _at(speeds: Table, spent: Table, marks: Sequence[float]) -> Table:
    """Return the speeds after so much was spent; nan after the end."""
    places = np.searchsorted(spent, np.array(marks) + 1e-9, side="right") - 1
    known = (places >= 0) & (np.array(marks) <= spent[-1])
    return np.where(known, speeds[np.maximum(places, 0)], np.nan)


def _cells(speeds: Table) -> list[str]:
    errors = speeds.std(axis=0, ddof=1) / math.sqrt(len(speeds))
    return [
        f"{mean:.4f} ±{error:.4f}" for mean, error in zip(speeds.mean(axis=0), errors, strict=True)
    ]


if __name__ == "__main__":
    main()
