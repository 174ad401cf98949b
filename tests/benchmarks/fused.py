"""What does a fused epilogue save? A pack's kernels with one, beside a library and a pass for it.

    python -m tests.benchmarks.fused models/nvidia-h100-80gb-hbm3/sgemm_nn --epilogue bias_m,relu

Writes the pack's kernels anew with an epilogue, keeps its rule, and compares as `mltune bench`
does: cuBLAS is followed by a kernel for bias and activation, in the same CUDA graph. Kernels that
cannot have an epilogue are left out. Prints, in Markdown, the speeds and ratios; writes
selector.json and bench.json (with every sample) into the folder.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from mltune.errors import MltuneError
from mltune.kernel.families import FAMILIES
from mltune.problem.gemm import with_epilogue
from mltune.selector import PortfolioKernel, Selector
from mltune.selector.json import read_selector, write_selector
from mltune.selector.restricted import without
from mltune.workflow.bench import BenchOptions, bench
from tests.benchmarks.ratio_report import report


def main() -> None:
    """Write the kernels, compare, and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("pack", type=Path)
    parser.add_argument("-o", "--out", type=Path, required=True)
    parser.add_argument("--epilogue", default="bias_m,relu")
    parser.add_argument("--sizes", default=",".join(f"{n}x{n}x{n}" for n in (1024, 2048, 4096)))
    parser.add_argument("--against", default="cublas")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seed", type=int, default=0, help="of the numbers")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    selector = options.out / "selector.json"
    write_selector(
        fused(read_selector(options.pack / "selector.json"), options.epilogue), selector
    )
    result = bench(
        BenchOptions(
            selector=selector,
            against=tuple(options.against.split(",")),
            sizes=options.sizes,
            problem=None,
            device=options.device,
            rounds=options.rounds,
            seed=options.seed,
            figure=None,
        ),
        lambda progress: None,
    )
    report(result, options.out, {"all": lambda problem: True})


def fused(selector: Selector, epilogue: str) -> Selector:
    """Return the same selector for kernels with an epilogue."""
    contraction = with_epilogue(selector.contraction, epilogue)
    portfolio, refused = [], []
    for number, kernel in enumerate(selector.portfolio):
        try:
            written = FAMILIES[kernel.family].generate(contraction, kernel.config)
        except MltuneError:
            refused.append(number)
            portfolio.append(kernel)
            continue
        portfolio.append(
            PortfolioKernel(
                name=written.name,
                family=kernel.family,
                config=kernel.config,
                source_hash=written.source_hash,
            )
        )
    changed = replace(selector, contraction=contraction, portfolio=tuple(portfolio))
    return without(changed, refused)[0]


if __name__ == "__main__":
    main()
