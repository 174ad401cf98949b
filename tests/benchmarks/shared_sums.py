"""Do time formulas fit kernels whose sums work-groups share?

    python tests/benchmarks/shared_sums.py --device cpu --sizes 48

Measures one config of the family tiled with 1, 2, 4 and 8 work-groups for each tile on random
sizes, fits a formula to every other size, and prints how far it is off on the rest: the median and
the 90th percentile of |log(expected / measured)|, as a percentage. Measured is the least of the
samples: on a machine that others use the median has their time in it.
"""

from __future__ import annotations

import argparse

import numpy as np

from mltune.distil import TimeTable
from mltune.distil.fit import Settings
from mltune.distil.formulas import fit_formula
from mltune.distil.table import Size
from mltune.kernel import Kernel
from mltune.kernel.families import FAMILIES
from mltune.kernel.name import macro_tile_of
from mltune.problem import Precision, gemm, gemm_problem
from mltune.runner import WorkerRunner
from mltune.selector import PortfolioKernel
from mltune.space.config import Config

CONFIG: dict[str, int | str] = {
    "work_group_0": 4, "work_group_1": 4, "thread_tile_0": 8, "thread_tile_1": 4, "depth_u": 16,
    "vector_width": 8, "prefetch_global_read": 0, "local_pad": 0, "loop_unroll": 4,
    "work_group_mapping": 8, "multiply_add": "expr", "vector_access": "cast",
}  # fmt: skip
SPLITS = (1, 2, 4, 8)


def main() -> None:
    """Measure, fit and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--sizes", type=int, default=48)
    parser.add_argument("--samples", type=int, default=9)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    extents = [
        2 ** rng.uniform(low, high, options.sizes) for low, high in ((4, 7), (4, 7), (8, 12))
    ]
    sizes = tuple(Size(int(m), int(n), int(k), 1) for m, n, k in zip(*extents, strict=True))
    contraction = gemm(Precision.SINGLE)
    kernels = [
        FAMILIES["tiled"].generate(contraction, Config.of({**CONFIG, "global_split_u": split}))
        for split in SPLITS
    ]
    seconds = np.full((len(sizes), len(kernels)), np.nan)
    with WorkerRunner(options.device, FAMILIES["tiled"], samples=options.samples) as runner:
        print(f"{runner.device.name}, {runner.device.compute_units} compute units")
        for row, size in enumerate(sizes):
            for column, kernel in enumerate(kernels):
                found = runner.run_kernel(gemm_problem(contraction, *size), kernel)
                if found.seconds:
                    seconds[row, column] = min(found.seconds)
        units = runner.device.compute_units
    settings = Settings(compute_units=units, multiples=(8, 1, 1))
    for column, (split, kernel) in enumerate(zip(SPLITS, kernels, strict=True)):
        tile = macro_tile_of(kernel.name)
        assert tile is not None
        learned, asked = np.arange(0, len(sizes), 2), np.arange(1, len(sizes), 2)
        table = TimeTable(
            sizes=tuple(sizes[row] for row in learned),
            kernels=tuple(map(_entry, kernels)),
            seconds=seconds[learned],
        )
        formula = fit_formula(table, column, tile, settings, split)
        expected = np.array([formula.femtoseconds(*sizes[row]) for row in asked]) / 1e15
        off = np.abs(np.log(expected / seconds[asked, column]))
        median, high = np.nanpercentile(off, (50, 90))
        print(f"{split} work-groups a tile: {median:.1%} in the median, {high:.1%} at the 90th")


def _entry(kernel: Kernel) -> PortfolioKernel:
    return PortfolioKernel(
        name=kernel.name,
        family=kernel.family,
        config=kernel.config,
        source_hash=kernel.source_hash,
    )


if __name__ == "__main__":
    main()
