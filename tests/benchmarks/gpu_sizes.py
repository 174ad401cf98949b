"""Write the drawn part of the suite `gpu`: kinds of sizes that networks have and squares do not.

    python tests/benchmarks/gpu_sizes.py

Two of each kind, log-uniform: a matrix by a vector, by a few columns, few terms, few tiles
with long sums, and the transposes of the first two; then a small matrix by a vector, and
its transpose. The first of two has sides that are multiples of 16. No size of another suite is
taken.
"""

from __future__ import annotations

import numpy as np

from mltune.problem.sizes import parse_sizes, suite_names

SEED = 2411
KINDS = (
    ((1024, 32768), (1, 1), (512, 8192)),
    ((1024, 32768), (2, 8), (512, 8192)),
    ((64, 2048), (64, 2048), (16, 96)),
    ((24, 384), (24, 384), (1024, 16384)),
    ((1, 1), (1024, 32768), (512, 8192)),
    ((2, 8), (1024, 32768), (512, 8192)),
    ((512, 4096), (1, 1), (512, 4096)),
    ((1, 1), (512, 4096), (512, 4096)),
)
EACH = 2


def main() -> None:
    """Print the sizes."""
    rng = np.random.default_rng(SEED)
    others = [name for name in suite_names() if name != "gpu"]
    known = {size.extents for size in parse_sizes(",".join(others))}
    for kind in KINDS:
        drawn = 0
        while drawn < EACH:
            size = tuple(round(float(np.exp(rng.uniform(*np.log(bounds))))) for bounds in kind)
            if drawn == 0:
                size = tuple(side if side < 16 else side // 16 * 16 for side in size)
            if size not in known:
                drawn += 1
                print(*size, sep=",")


if __name__ == "__main__":
    main()
