"""Compare a search of several spaces with searches of each alone, on made-up times.

    python -m tests.benchmarks.union_search RUN... --spaces packed-cpu auto --seeds 10 --budget 60

A cost model learns from the runs, of one device and all the families, and answers for every
config; each is by chance faster or slower on each size, by `--noise` in logs. Prints the geometric
mean over the sizes of the best times after so many trials, as geometric means over the seeds, and
which spaces the trials of the last search went to.
"""

from __future__ import annotations

import argparse
import zlib
from collections import Counter
from pathlib import Path

import numpy as np

from mltune.cost_model import BoostedModel, fit
from mltune.kernel.space_file import parse_space
from mltune.run.run_info import RunInfo
from mltune.search.make import make_sampler
from mltune.space.config import Config
from mltune.space.names import outside_names
from mltune.space.union import UnionSpace, members_of, without_family
from mltune.tuning.mean import geometric_mean
from mltune.workflow.chosen_spaces import SearchSpace, choose_spaces
from mltune.workflow.recorded import read_runs
from mltune.workflow.run_setup import default_configs
from tests.studies import Asked

MARKS = (5, 10, 20, 30, 40, 60, 100, 200)


def curve(
    model: BoostedModel, info: RunInfo, space: SearchSpace, seed: int, budget: int, noise: float
) -> tuple[list[float], Counter[str]]:
    """Return the mean of the best times after each trial, and the trials of each space."""
    problems = info.problems
    sampler = make_sampler("guided", space, seed, counts=(1,) * len(problems), problems=problems)
    asked = Asked(sampler, len(problems))
    best = np.full(len(problems), np.inf)
    means: list[float] = []
    spent: Counter[str] = Counter()

    def answer(config: Config) -> np.ndarray:
        plain = without_family(config)
        logs = model.predict_all([(problem, [plain]) for problem in problems]).ravel()
        chance = np.random.default_rng(zlib.crc32(plain.id.encode()))
        made: np.ndarray = np.exp(logs + chance.normal(0, noise, len(problems)))
        return made

    first = default_configs(space) if not isinstance(space, UnionSpace) else ()
    for number in range(budget):
        proposal = asked.study.take(first[0]) if number < len(first) else asked.ask()
        assert proposal is not None
        seconds = answer(proposal.config)
        timed: dict[int, float] = {}
        asked.study.begin(proposal, proposal.number)
        for size in range(len(problems)) if proposal.sizes is None else proposal.sizes:
            if timed and proposal.should_prune():
                break
            timed[size] = float(seconds[size])
            proposal.report(size, timed[size])
        asked.finish(proposal, timed)
        for size, value in timed.items():
            best[size] = min(best[size], value)
        means.append(geometric_mean(best.tolist()))
        owner = next(one for one in members_of(space) if proposal.config in one)
        spent[owner.name] += 1
    return means, spent


def main() -> None:
    """Search once a seed in each, print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("runs", nargs="+", type=Path, help="the first one's sizes are searched on")
    parser.add_argument("--spaces", nargs="+", default=["packed-cpu", "auto"])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--budget", type=int, default=60)
    parser.add_argument("--noise", type=float, default=0.05, help="standard deviation")
    options = parser.parse_args()
    recorded = read_runs(options.runs)
    info = recorded.infos[0]
    model = fit(recorded.measurements, info.device)
    marks = [mark for mark in MARKS if mark <= options.budget]
    print("| space |" + "".join(f" {mark} |" for mark in marks) + " trials of the last search |")
    print("|---" * (2 + len(marks)) + "|")
    for names in options.spaces:
        chosen = choose_spaces(tuple(names.split(",")), info.device, info.contraction)
        limits = outside_names(info.device, info.contraction)
        space: SearchSpace = UnionSpace(names, tuple(chosen.values()))
        if len(chosen) == 1:
            space = parse_space(next(iter(chosen)).text, names).bind(limits)
        found = [
            curve(model, info, space, seed, options.budget, options.noise)
            for seed in range(options.first_seed, options.first_seed + options.seeds)
        ]
        means = np.exp(np.log([each for each, _ in found]).mean(axis=0)) * 1e6
        cells = "".join(f" {means[mark - 1]:.2f} |" for mark in marks)
        print(f"| {names}: µs |{cells} {dict(found[-1][1])} |", flush=True)


if __name__ == "__main__":
    main()
