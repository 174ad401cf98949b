"""Compare samplers on a whole space of kernels, whose times a cost model makes up.

    python tests/benchmarks/modelled_search.py RUN... --seeds 6 --budget 200

No device measures hundreds of thousands of configs. So a cost model learns from runs of one
device, and answers for every config of their space. A device's times have more to them than trees
remember: each config is by chance faster or slower on each size, by `--noise` in logs. Prints,
for each sampler after so many trials, geometric means over the seeds: the library's time summed
over the sizes, and its geometric mean over the sizes; and in how many seeds the first sampler
ends before the others.
"""

from __future__ import annotations

import argparse
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from library_replay import SEARCHES, Search, Table  # type: ignore[import-not-found]  # lies beside this

from mltune.cost_model import BoostedModel, fit
from mltune.problem import Problem
from mltune.search.make import make_sampler
from mltune.space.space import Space
from mltune.workflow.chosen_spaces import bound_space
from mltune.workflow.recorded import read_runs

MARKS = (25, 50, 100, 150, 200)
AS_MADE, WITHOUT_WORK = "guided", " without padded work"
"""`guided` as `mltune search` makes it, and the same without knowing what whole tiles compute."""


def search(
    model: BoostedModel,
    space: Space,
    problems: Sequence[Problem],
    name: str,
    seed: int,
    budget: int,
    noise: float,
    calls: int,
) -> Table:
    """Return the best time of each size after each trial."""
    counts = (calls,) * len(problems)
    sampler = (
        make_sampler(name, space, seed, counts=counts, problems=problems)
        if name == AS_MADE
        else SEARCHES[name.removesuffix(WITHOUT_WORK)](space, seed, counts)
    )
    made = Search(sampler, len(problems))
    best = np.full(len(problems), np.inf)
    rows = []
    for _ in range(budget):
        trial, config, sizes = made.ask()
        logs = model.predict_all([(problems[size], [config]) for size in sizes])
        # The same config is as lucky in every search.
        chance = np.random.default_rng(zlib.crc32(config.id.encode()))
        logs = logs + chance.normal(0, noise, len(problems))[[*sizes]]
        made.tell(trial, dict(zip(sizes, np.exp(logs).tolist(), strict=True)))
        best[[*sizes]] = np.minimum(best[[*sizes]], np.exp(logs))
        rows.append(best.copy())
    return np.array(rows)


def main() -> None:
    """Search once a seed with each sampler, print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("runs", nargs="+", type=Path, help="of one space, sizes and device")
    parser.add_argument("--searches", default="guided,guided by one mean,tpe,random")
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--budget", type=int, default=200)
    parser.add_argument("--noise", type=float, default=0.02, help="standard deviation")
    parser.add_argument(
        "--calls", type=int, default=1, help="of each size; if not 1, the summed time matters"
    )
    options = parser.parse_args()
    marks = [mark for mark in MARKS if mark <= options.budget]
    recorded = read_runs(options.runs)
    info = recorded.infos[0]
    space = bound_space(info)
    assert isinstance(space, Space), "the run searched several spaces"
    model = fit(recorded.measurements, info.device)
    print(f"{space.size:,} configs, {model.rows:,} measurements; the model: {model.scores}\n")
    print("| sampler |" + "".join(f" {mark} |" for mark in marks) + " first is ahead |")
    print("|---" * (2 + len(marks)) + "|")
    first: dict[str, Table] = {}
    for name in options.searches.split(","):
        curves = np.array(
            [
                search(
                    model,
                    space,
                    info.problems,
                    name,
                    seed,
                    options.budget,
                    options.noise,
                    options.calls,
                )
                for seed in range(options.seeds)
            ]
        )
        figures = {
            "summed, ms": 1e3 * curves.sum(axis=2),
            "geometric mean, µs": 1e6 * np.exp(np.log(curves).mean(axis=2)),
        }
        for what, table in figures.items():
            ahead = int((first.setdefault(what, table)[:, -1] < table[:, -1]).sum())
            means = np.exp(np.log(table).mean(axis=0))
            cells = "".join(f" {means[mark - 1]:.4g} |" for mark in marks)
            print(f"| {name}: {what} |{cells} {ahead} of {options.seeds} |", flush=True)


if __name__ == "__main__":
    main()
