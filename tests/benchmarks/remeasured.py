"""What rules choose for sizes that they never saw, measured again: how much of a loss is noise?

    python tests/benchmarks/remeasured.py RUN -o FOLDER --device cpu --sizes 100 --passes 2

Measures a run's leaders again on sizes of its cross-benchmark, drawn by a seed, as `mltune search`
does: each pass is a run of its own in FOLDER, and what is there already is not done again. Then
rules are fitted to RUN, in four parts, so that no size is chosen for by a rule that saw it, and
each pass judges the choices: least time of the pass / time of the chosen kernel. Beside the rules
stand the kernels that were best on these very sizes in RUN's own records, and in another pass: who
measured everything before knows no more, so no rule can show more than these.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, permutations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mltune.distil import TimeTable
from mltune.distil.fit import PARTS, Settings, folds
from mltune.distil.methods import METHODS
from mltune.distil.traffic import memory_of
from mltune.measurement import Phase
from mltune.problem import problem_of_size
from mltune.run.csv_table import write_table
from mltune.run.run import INFO_NAME, TABLE_NAME, Run, write_info
from mltune.run.run_info import new_run_id
from mltune.workflow.recorded import Recorded, read_runs

Array = NDArray[np.float64]
RULES = ("formulas", "tree")
SPLITS = 3


def main() -> None:
    """Measure what is missing, and print the table in Markdown."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("-o", "--out", type=Path, required=True)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--builders", type=int, default=2)
    parser.add_argument("--sizes", type=int, default=100)
    parser.add_argument("--passes", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0, help="of the sizes")
    parser.add_argument("--max-kernels", type=int, default=24)
    options = parser.parse_args()
    if options.passes < 2:
        parser.error(f"--passes must be at least 2, one to judge by another, got {options.passes}")
    folders = [options.out / f"pass-{number}" for number in range(options.passes)]
    for folder in folders:
        if not (folder / INFO_NAME).exists():
            _strip(options.run, folder, options.sizes, options.seed)
        command = [sys.executable, "-m", "mltune", "search", "-q", "--resume"]
        command += ["--run", str(folder), "--device", options.device]
        command += ["--builders", str(options.builders)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        print(f"{folder} is measured", flush=True)
    _print(read_runs([options.run]), [read_runs([folder]) for folder in folders], options)


def _strip(source: Path, folder: Path, count: int, seed: int) -> None:
    """Copy a run without its final rounds, with some of its further sizes."""
    folder.mkdir(parents=True)
    with Run.open(source) as run:
        info, rows = run.info, run.store.measurements()
    met = {row.problem.size for row in rows if row.phase == Phase.FINAL}
    of = {size: problem_of_size(info.contraction, size.extents) for size in info.cross_sizes}
    sizes = [size for size, problem in of.items() if problem.size in met]
    drawn = np.random.default_rng(seed).choice(len(sizes), min(count, len(sizes)), replace=False)
    write_table((row for row in rows if row.phase != Phase.FINAL), folder / TABLE_NAME)
    cross = tuple(sizes[number] for number in sorted(drawn))
    trials = len({row.trial for row in rows if row.phase == Phase.SEARCH})
    stripped = replace(info, id=new_run_id(), cross_sizes=cross, storage="", budget=trials)
    write_info(stripped, folder / INFO_NAME)


def _print(recorded: Recorded, again: Sequence[Recorded], options: argparse.Namespace) -> None:
    table = TimeTable.from_measurements(recorded.measurements)
    passes = [TimeTable.from_measurements(one.measurements) for one in again]
    met = set.intersection(*({*one.sizes} for one in (table, *passes)))
    wanted = {size.label for size in again[0].infos[0].cross_sizes}
    rows = [r for r, size in enumerate(table.sizes) if size in met and size.label in wanted]
    names = set.intersection(*({k.name for k in one.kernels} for one in (table, *passes)))
    table = table.only([c for c, kernel in enumerate(table.kernels) if kernel.name in names])
    known = table.log_ratios[rows]
    times = [_aligned(one, table, rows) for one in passes]
    noise = np.concatenate([abs(np.log(a / b)).ravel() for a, b in combinations(times, 2)])
    print(f"\n{len(rows)} sizes, {len(table.kernels)} kernels, {recorded.device.name}")
    print(
        f"two passes differ by {np.nanmedian(noise):.1%} (median), one time in ten by "
        f"{np.nanquantile(noise, 0.9):.1%} or more\n"
    )
    print("| choice | geomean | 10th pct | worst |\n|---|---|---|---|")
    _row("best in another pass", [(np.nanargmin(a, axis=1), b) for a, b in permutations(times, 2)])
    best = known.argmin(axis=1)
    _row("best in the run's records", [(best, one) for one in times])
    for name in RULES:
        chosen = _held_out(name, recorded, table, options.max_kernels)
        _row(name, [(one[rows], each) for one in chosen for each in times])
    single = np.full(len(rows), known.mean(axis=0).argmin())
    _row("single best kernel", [(single, one) for one in times])
    anything = [np.full(len(rows), column) for column in range(len(table.kernels))]
    _row("random pick", [(chosen, one) for chosen in anything for one in times])


def _aligned(one: TimeTable, like: TimeTable, rows: list[int]) -> Array:
    """Return the same sizes and kernels of another table, in the same order."""
    names = [kernel.name for kernel in one.kernels]
    mine = [one.sizes.index(like.sizes[row]) for row in rows]
    return one.seconds[np.ix_(mine, [names.index(kernel.name) for kernel in like.kernels])]


def _held_out(
    name: str, recorded: Recorded, table: TimeTable, max_kernels: int
) -> list[NDArray[np.intp]]:
    """Return the rule's choice for each held-out size, for each split of the sizes."""
    settings = Settings.of(
        recorded.contraction,
        max_kernels=max_kernels,
        compute_units=recorded.device.compute_units,
        memory=memory_of(recorded.device, recorded.contraction),
    )
    splits = []
    for seed in range(SPLITS):
        chosen = np.zeros(len(table.sizes), np.intp)
        for train, test in folds(len(table.sizes), PARTS, seed):
            chosen[test] = METHODS[name](table.take(train), settings).choose(table.take(test))
        splits.append(chosen)
    return splits


def _row(name: str, judged: Sequence[tuple[NDArray[np.intp], Array]]) -> None:
    speeds = np.concatenate(
        [
            np.nanmin(times, axis=1) / times[np.arange(len(times)), chosen]
            for chosen, times in judged
        ]
    )
    low = np.quantile(speeds, 0.1)
    print(f"| {name} | {np.exp(np.log(speeds).mean()):.3f} | {low:.3f} | {speeds.min():.3f} |")


if __name__ == "__main__":
    main()
