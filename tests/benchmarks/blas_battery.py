"""Is exported C right as a BLAS? Random calls of every problem type, compared with numpy.

    python -m tests.benchmarks.blas_battery --calls 40

All precisions that C has, both orders, all transposes and conjugates; kernels of random configs of
a space; sizes with remainders, alpha and beta of 0 and others, offsets, leading dimensions, NaN
around the matrices. Needs gcc, OpenCL's headers and PoCL from pip. The exit code is 1, with the
call, when a result is wrong.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path

import numpy as np
import pyopencl as cl

from mltune.device import choose
from mltune.device.opencl.listing import driver_device
from mltune.export import WRITERS
from mltune.export.library import Library
from mltune.kernel.families import FAMILIES
from mltune.kernel.space_file import load_space
from mltune.problem import parse_problem_type
from mltune.selector import Leaf, Selector
from mltune.space.names import outside_names
from tests.blas_calls import check_calls
from tests.selectors import entry_of

TRANSPOSES = {"s": "nt", "d": "nt", "c": "ntc", "z": "ntc"}


def main() -> int:
    """Call, compare, and print a line per precision."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--space", default="spaces/tiled-cpu.yaml")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--kernels", type=int, default=3, help="of each problem type")
    parser.add_argument("--calls", type=int, default=40, help="of each problem type")
    parser.add_argument("--precisions", default="sdcz")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    entry = choose(options.device)
    device = driver_device(entry)
    queue = cl.CommandQueue(cl.Context([device]))
    space = load_space(options.space)
    draw = np.random.default_rng(options.seed)
    for letter in options.precisions:
        types = product(TRANSPOSES[letter], TRANSPOSES[letter], ("", "_row"))
        names = [f"{letter}gemm_{a}{b}{order}" for a, b, order in types]
        for name in names:
            contraction = parse_problem_type(name)
            outside = outside_names(entry.info, contraction)
            configs = space.bind(outside).sample(draw, options.kernels)
            kernels = tuple(FAMILIES[space.family].generate(contraction, one) for one in configs)
            portfolio = tuple(map(entry_of, kernels))
            selector = Selector(contraction=contraction, portfolio=portfolio, tree=Leaf(0))
            library = Library(selector, kernels)
            rng = random.Random(f"{options.seed} {name}")
            with tempfile.TemporaryDirectory() as folder:
                shared = _compile(library, Path(folder))
                try:
                    check_calls(library, shared, queue, rng, options.calls)
                except AssertionError as error:
                    print(error)
                    return 1
        print(f"{letter}: {len(names)} problem types, {len(names) * options.calls} calls right")
    return 0


def _compile(library: Library, folder: Path) -> Path:
    files = WRITERS["c"].write(library.selector, library.kernels, folder)
    sources = [file for file in files if file.suffix == ".c" and file.name != "example.c"]
    loader = next(Path(cl.__file__).parent.glob(".libs/libOpenCL*.so*"))
    shared = folder / f"{library.name}.so"
    command: list[str | Path] = [
        "gcc",
        "-std=c99",
        "-O1",
        "-shared",
        "-fPIC",
        "-o",
        shared,
        *sources,
        loader,
    ]
    subprocess.run(command, check=True)
    return shared


if __name__ == "__main__":
    sys.exit(main())
