"""Do exported C and Python choose as the selector does, on a million sizes, at every threshold?

    python -m tests.benchmarks.equality runs/2026-11-21-sgemm-nn-nvidia-h200

For each method of `mltune distil`: sizes drawn at random up to 2^63 - 1 with all corners among
them, sizes at every threshold of the tree and one to each side, and the exact sizes. C is compiled
with the undefined-behaviour sanitizer. The exit code is 1 when any choice differs. Needs gcc.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from mltune.distil import TimeTable, distil
from mltune.distil.methods import AUTO, METHODS
from mltune.export.library import Library
from mltune.kernel.families import FAMILIES
from mltune.problem import random_sizes as usual_sizes
from mltune.selector import Split, nodes
from mltune.workflow.recorded import read_runs
from tests.export.conftest import SANITIZE, STRICT
from tests.export.test_selection import (
    choices_in_c,
    choices_in_python,
    expected,
    random_sizes,
    sizes_at,
)


def main() -> int:
    """Distil, export, choose, and print a line per method."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--sizes", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    recorded = read_runs(options.runs)
    table = TimeTable.from_measurements(recorded.measurements)
    half = options.sizes // 2
    drawn = random_sizes(np.random.default_rng(options.seed), options.sizes - half)
    for size in usual_sizes(half, seed=options.seed):
        m, n, k = size.extents
        drawn.append((m, n, k, 1))
    differing = 0
    for method in (name for name in METHODS if name != AUTO):
        selector = distil(
            table,
            recorded.contraction,
            method=method,
            compute_units=recorded.device.compute_units,
        ).selector
        asked = [*drawn, *(size for size, _ in selector.exact)]
        for node, _ in nodes(selector.tree):
            if isinstance(node, Split):
                asked += sizes_at(node.feature, node.threshold)
        kernels = [
            FAMILIES[one.family].generate(selector.contraction, one.config)
            for one in selector.portfolio
        ]
        library = Library.of(selector, kernels)
        wanted = expected(selector, asked)
        with tempfile.TemporaryDirectory() as folder:
            in_c = choices_in_c(library, asked, _compile, Path(folder) / "c")
            in_python = choices_in_python(library, asked, Path(folder) / "python")
        wrong = sum(
            one != c or one != p for one, c, p in zip(wanted, in_c, in_python, strict=True)
        )
        differing += wrong
        print(
            f"{method}: {len(asked):,} sizes, {len(set(wanted))} of {len(kernels)} kernels, "
            f"{wrong} choices differ",
            flush=True,
        )
    return int(differing > 0)


def _compile(program: Path, *arguments: Path | str) -> Path:
    subprocess.run(["gcc", *STRICT, *SANITIZE, "-o", program, *arguments], check=True)
    return program


if __name__ == "__main__":
    sys.exit(main())
