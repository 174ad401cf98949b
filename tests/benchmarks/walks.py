"""What do work-groups that walk over C, or begin at different places of a sum, gain?

    python -m tests.benchmarks.walks --device gpu

Measures one config of the family tiled as it is, with staggered sums, with persistent work-groups,
with Stream-K and with sums that four work-groups share, on sizes whose tiles fill a large GPU
evenly, nearly, or badly, and prints GFLOP/s: kernel time, median of the samples, each result
checked. A config that has no result there has a dash.
"""

from __future__ import annotations

import argparse
import statistics

from mltune.kernel.families import FAMILIES
from mltune.problem import Precision, gemm, gemm_problem
from mltune.runner import WorkerRunner
from mltune.space.config import Config

CONFIG: dict[str, int | str] = {
    "work_group_0": 16, "work_group_1": 16, "thread_tile_0": 8, "thread_tile_1": 8, "depth_u": 16,
    "vector_width": 4, "prefetch_global_read": 1, "local_pad": 4, "loop_unroll": 4,
    "work_group_mapping": 8, "multiply_add": "expr", "vector_access": "cast",
    "wave_lanes_0": 8, "wave_lanes_1": 4,
}  # fmt: skip
VARIANTS: dict[str, dict[str, int | str]] = {
    "as it is": {},
    "stagger_u 32": {"stagger_u": 32},
    "stagger_u 32, mapping 3": {"stagger_u": 32, "stagger_u_mapping": 3},
    "persistent_kernel 1": {"persistent_kernel": 1},
    "persistent_kernel 2": {"persistent_kernel": 2},
    "persistent_kernel 1, stream_k": {"persistent_kernel": 1, "stream_k": 1},
    "persistent_kernel 2, stream_k": {"persistent_kernel": 2, "stream_k": 1},
    "global_split_u 4": {"global_split_u": 4},
}
SIZES = "4096x4096x4096,2048x2048x2048,1500x1500x4096,2176x1100x8192,512x512x16384"


def main() -> None:
    """Measure and print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--sizes", default=SIZES, help="MxNxK, comma-separated")
    parser.add_argument("--samples", type=int, default=7)
    options = parser.parse_args()
    contraction = gemm(Precision.SINGLE)
    sizes = [tuple(map(int, size.split("x"))) for size in options.sizes.split(",")]
    kernels = {
        name: FAMILIES["tiled"].generate(contraction, Config.of({**CONFIG, **changed}))
        for name, changed in VARIANTS.items()
    }
    rows: dict[str, list[str]] = {name: [] for name in kernels}
    with WorkerRunner(options.device, FAMILIES["tiled"], samples=options.samples) as runner:
        for m, n, k in sizes:
            for name, kernel in kernels.items():
                found = runner.run_kernel(gemm_problem(contraction, m, n, k), kernel)
                seconds = statistics.median(found.seconds) if found.seconds else None
                rows[name].append(f"{2e-9 * m * n * k / seconds:.0f}" if seconds else "-")
        print(f"{runner.device.name}, driver {runner.device.driver_version}\n")
    print(f"| | {' | '.join(options.sizes.split(','))} |\n|---|{'---|' * len(sizes)}")
    for name, cells in rows.items():
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
