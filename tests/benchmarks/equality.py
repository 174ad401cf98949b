"""Do exported C and Python choose as the selector does, on a million sizes, at every threshold?

    python -m tests.benchmarks.equality models/nvidia-h200/sgemm_nn

For each selector: sizes drawn at random up to 2^63 - 1 with all corners among them, sizes at every
threshold of the tree and one to each side, and the exact sizes. C is compiled with the
undefined-behaviour sanitizer. The exit code is 1 when any choice differs. Needs gcc.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from mltune.export.library import Library
from mltune.kernel.families import FAMILIES
from mltune.selector import Split, nodes
from mltune.selector.json import read_selector
from mltune.selector.pack import find_selector
from tests.export.conftest import SANITIZE, STRICT
from tests.export.test_selection import (
    choices_in_c,
    choices_in_python,
    expected,
    random_sizes,
    sizes_at,
)


def main() -> int:
    """Export, choose, and print a line per selector."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("selectors", nargs="+", type=Path)
    parser.add_argument("--sizes", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    half = options.sizes // 2
    rng = np.random.default_rng(options.seed)
    drawn = random_sizes(rng, options.sizes - half)
    usual = (2 ** rng.uniform(0, 14, (half, 3))).astype(np.int64).tolist()  # up to 16384
    drawn += [(m, n, k, 1) for m, n, k in usual]
    differing = 0
    for path in options.selectors:
        selector = read_selector(find_selector(path))
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
            f"{path}: {len(asked):,} sizes, {len(set(wanted))} of {len(kernels)} kernels, "
            f"{wrong} choices differ",
            flush=True,
        )
    return int(differing > 0)


def _compile(program: Path, *arguments: Path | str) -> Path:
    subprocess.run(["gcc", *STRICT, "-O2", *SANITIZE, "-o", program, *arguments], check=True)
    return program


if __name__ == "__main__":
    sys.exit(main())
