"""Compares the ways to choose by size: what they lose, how large they are, ns per lookup.

    python tests/benchmarks/lookups.py runs/2026-11-21-sgemm-nn-nvidia-h200

For each method of `mltune distil` the selector of a run is exported to C and compiled with -O2,
once with the map of exact sizes and once without. A lookup is timed on sizes that were drawn at
random, log-uniform, none of them in the map, so many that next to none is remembered, and on 16 of
them, which are; beside it stand Tensile's lookup cache, a std::map, and a std::unordered_map, both
holding the answers already. In Python nothing is cached, and the clock is that of the thread.
Needs g++ and size.
"""

from __future__ import annotations

import argparse
import runpy
import statistics
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from mltune.distil import RegretRow, TimeTable, distil
from mltune.distil.methods import METHODS
from mltune.export import WRITERS
from mltune.export.library import Library
from mltune.kernel import Kernel
from mltune.kernel.families import FAMILIES
from mltune.selector import Selector, depth, leaves
from mltune.workflow.recorded import read_runs

HARNESS = Path(__file__).with_name("lookups.cpp")


def main() -> None:
    """Distil, export, compile, time, and print the table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--max-kernels", type=int, default=16)
    parser.add_argument("--sizes", type=int, default=1024, help="drawn at random")
    options = parser.parse_args()
    recorded = read_runs(options.runs)
    table = TimeTable.from_measurements(recorded.measurements)
    known = {(size.m, size.n, size.k) for size in table.sizes}
    logs = np.random.default_rng(1).uniform(0, np.log(4096), (options.sizes, 3))
    drawn = [(m, n, k) for m, n, k in np.exp(logs).astype(int).tolist()]
    asked = [extents for extents in drawn if extents not in known]
    print(
        f"{len(table.sizes)} sizes, {len(table.kernels)} kernels, {recorded.device.name}; "
        f"ns: median of 201 passes over {len(asked)} unseen sizes\n"
    )
    print(
        "| method | kernels | leaves | depth | geomean | 10th pct | worst | code bytes | "
        "with exact map | ns | ns with exact map | ns remembered | ns std::map | "
        "ns unordered_map | ns in Python |"
    )
    print("|---|" + "---|" * 14)
    for method in METHODS:
        distilled = distil(
            table,
            recorded.contraction,
            method=method,
            max_kernels=options.max_kernels,
            compute_units=recorded.device.compute_units,
        )
        print(_row(method, distilled.selector, distilled.rows, asked), flush=True)


def _row(
    method: str,
    selector: Selector,
    rows: Sequence[RegretRow],
    asked: Sequence[tuple[int, ...]],
) -> str:
    regret = next(row.regret for row in rows if row.rule == method)
    bare_bytes, (plain, _, ordered, hashed) = _timed(_without_map(selector), asked)
    full_bytes, (exact, again, _, _) = _timed(selector, asked)
    cells = (
        method, len(selector.portfolio), len(leaves(selector.tree)), depth(selector.tree),
        f"{regret.geomean:.3f}", f"{regret.p10:.3f}", f"{regret.worst:.3f}",
        f"{bare_bytes:,}", f"{full_bytes:,}",
        *(f"{value:.1f}" for value in (plain, exact, again, ordered, hashed)),
        f"{_timed_in_python(selector, asked):,.0f}",
    )  # fmt: skip
    return f"| {' | '.join(map(str, cells))} |"


def _without_map(selector: Selector) -> Selector:
    """Return a selector without the map and its kernels."""
    kernels = selector.portfolio[: len(selector.formulas) or None]
    return replace(selector, exact=(), portfolio=kernels)


def _timed(selector: Selector, asked: Sequence[tuple[int, ...]]) -> tuple[int, list[float]]:
    """Return the bytes of code and constants without kernel names, and the nanoseconds."""
    kernels = _kernels(selector)
    name = Library.of(selector, kernels).name
    text = "".join(f"{m} {n} {k} 1\n" for m, n, k in asked)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        WRITERS["c"].write(selector, kernels, folder)
        made = folder / f"{name}_select.o"
        _call("gcc", "-std=c99", "-O2", "-c", str(made.with_suffix(".c")), "-o", str(made))
        _call(
            "g++", "-O2", f"-I{folder}", f'-DSELECT_H="{name}_select.h"',
            f"-DPROBLEM={name}_problem", f"-DSELECT={name}_select",
            str(HARNESS), str(made), "-o", str(folder / "lookups"),
        )  # fmt: skip
        sections = _call("size", str(made)).splitlines()[1].split()
        spent = _call(str(folder / "lookups"), text=text)
    names = sum(len(kernel.name) + 1 + 8 for kernel in kernels)  # and a pointer to each
    return int(sections[0]) + int(sections[1]) - names, [float(one) for one in spent.split()]


def _timed_in_python(selector: Selector, asked: Sequence[tuple[int, ...]]) -> float:
    """Return the nanoseconds of an uncached look-up: the median of 31 passes."""
    kernels = _kernels(selector)
    with tempfile.TemporaryDirectory() as place:
        WRITERS["python"].write(selector, kernels, Path(place))
        written = Path(place) / Library.of(selector, kernels).name / "selection.py"
        by_rule = runpy.run_path(str(written))["_by_rule"]
    passes = []
    for _ in range(31):
        began = time.thread_time_ns()
        for m, n, k in asked:
            by_rule(m, n, k, 1)
        passes.append((time.thread_time_ns() - began) / len(asked))
    return statistics.median(passes)


def _kernels(selector: Selector) -> list[Kernel]:
    return [
        FAMILIES[one.family].generate(selector.contraction, one.config)
        for one in selector.portfolio
    ]


def _call(*command: str, text: str = "") -> str:
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    return done.stdout


if __name__ == "__main__":
    main()
