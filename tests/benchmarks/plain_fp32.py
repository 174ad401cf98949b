"""What does each choice of a large kernel of plain single precision gain?

    python -m tests.benchmarks.plain_fp32 --device gpu

Measures one config of the family tiled, and others that differ from it in one choice, on products
that fill a large NVIDIA GPU, NN and NT, and prints GFLOP/s: kernel time, median of the samples,
each result checked. A config that has no result there has a dash.
"""

from __future__ import annotations

import argparse
import statistics

from mltune.kernel.families import FAMILIES
from mltune.problem import Precision, gemm, gemm_problem
from mltune.runner import WorkerRunner
from mltune.space.config import Config

CONFIG: dict[str, int | str] = {
    "work_group_0": 16, "work_group_1": 16, "thread_tile_0": 16, "thread_tile_1": 8, "depth_u": 16,
    "loop_unroll": 16, "vector_width": 4, "global_read_vector_width": 4, "local_pad": 0,
    "global_to_local": "async", "local_buffers": 2, "prefetch_global_read": 0, "swizzle": 1,
    "prefetch_local_read": 1, "work_group_mapping": 8, "multiply_add": "expr",
    "vector_access": "cast", "wave_lanes_0": 8, "wave_lanes_1": 4, "edge_type": "none",
}  # fmt: skip
REGISTERS: dict[str, int | str] = {"global_to_local": "registers", "prefetch_global_read": 1}
VARIANTS: dict[str, dict[str, int | str]] = {
    "as it is": {},
    "edge_type loops": {"edge_type": "loops"},
    "edge_type branch": {"edge_type": "branch"},
    "swizzle 0": {"swizzle": 0},
    "prefetch_local_read 0": {"prefetch_local_read": 0},
    "prefetch_local_read 0, vector_width_u 4": {"prefetch_local_read": 0, "vector_width_u": 4},
    "prefetch_local_read 2": {"prefetch_local_read": 2},
    "loop_unroll 4": {"loop_unroll": 4},
    "loop_unroll 2": {"loop_unroll": 2},
    "through registers": REGISTERS,
    "through registers, prefetch_local_read 2": {**REGISTERS, "prefetch_local_read": 2},
    "depth_u 8, 3 buffers": {"depth_u": 8, "loop_unroll": 8, "local_buffers": 3},
    "128x128 of 8x16 work-items, 3 buffers": {"work_group_0": 8, "local_buffers": 3},
    "128x128 of 16x16, thread tiles 8x8": {"thread_tile_0": 8},
}
SIZES = "2048x2048x2048,4096x4096x4096,8192x8192x8192"


def main() -> None:
    """Measure and print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--sizes", default=SIZES, help="MxNxK, comma-separated")
    parser.add_argument("--samples", type=int, default=7)
    options = parser.parse_args()
    sizes = [tuple(map(int, size.split("x"))) for size in options.sizes.split(",")]
    tiled = FAMILIES["tiled"]
    rows: dict[str, list[str]] = {name: [] for name in VARIANTS}
    with WorkerRunner(options.device, tiled, samples=options.samples) as runner:
        for trans in ("nn", "nt"):
            contraction = gemm(Precision.SINGLE, *trans)
            for name, changed in VARIANTS.items():
                kernel = tiled.generate(contraction, Config.of({**CONFIG, **changed}))
                for m, n, k in sizes:
                    found = runner.run_kernel(gemm_problem(contraction, m, n, k), kernel)
                    seconds = statistics.median(found.seconds) if found.seconds else None
                    rows[name].append(f"{2e-9 * m * n * k / seconds:.0f}" if seconds else "-")
        print(f"{runner.device.name}, driver {runner.device.driver_version}\n")
    heads = [f"{trans} {size}" for trans in ("NN", "NT") for size in options.sizes.split(",")]
    print(f"| | {' | '.join(heads)} |\n|---|{'---|' * len(heads)}")
    for name, cells in rows.items():
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
