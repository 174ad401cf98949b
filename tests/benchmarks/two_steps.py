"""Do kernels that hold PTX instructions back run everywhere, once what they hold is released?

    python -m tests.benchmarks.two_steps --device gpu

Needs a GPU for which the driver writes PTX, of an architecture with `wgmma`; elsewhere every line
but that of an ordinary kernel says what refused it. A kernel whose sums are right only when an
instruction that it holds back has run is built and launched by mltune, by a second process (which
the driver's cache should help), by the exported Python, and by the exported C: compact, full, and
full with binaries that were made ahead. C needs gcc and OpenCL's headers, where CPATH says or in
the compiler's own folders. Prints a line for each; the exit code is 1 when one is not right.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array

from mltune.compat.autogemm import FullCWriter
from mltune.device import choose, open_device
from mltune.device.opencl.listing import driver_device
from mltune.export import WRITERS
from mltune.kernel import Kernel
from mltune.problem import parse_problem_type
from mltune.runtime import TunedGemm
from mltune.selector import Leaf, PortfolioKernel, Selector
from mltune.space import Config

CONTRACTION = parse_problem_type("sgemm_nn")
SOURCE = """// {stamp}
__kernel void one_element(__global float *c, const __global float *a, const __global float *b,
    const float alpha, const float beta, const uint size_i, const uint size_j, const uint size_l,
    const ulong offset_c, const ulong ld_c, const ulong batch_stride_c,
    const ulong offset_a, const ulong ld_a, const ulong batch_stride_a,
    const ulong offset_b, const ulong ld_b, const ulong batch_stride_b)
{{
    const uint i = get_global_id(0), j = get_global_id(1);
    float sum = 0;
    uint one = {one};
    {held_back}
    if (i >= size_i || j >= size_j)
        return;
    for (uint l = 0; l < size_l; ++l)
        sum += a[offset_a + i + l * ld_a] * b[offset_b + l + j * ld_b];
    c += offset_c + i + j * ld_c;
    *c = (float)one * alpha * sum + (beta == 0 ? 0 : beta * *c);
}}
"""
# The one that only sm_90a has shows that it was built for it; the other one's effect can be seen.
HELD_BACK = """__asm__ volatile("//@ wgmma.fence.sync.aligned;" ::: "memory");
    __asm__ volatile("//@ add.u32 %0, %0, 1;" : "+r"(one));"""
PACKAGE = """
import sys
sys.path.insert(0, sys.argv[1])
import numpy as np, pyopencl as cl, pyopencl.array as cl_array
import mltune_sgemm_nn as tuned
device = cl.get_platforms()[int(sys.argv[2])].get_devices()[int(sys.argv[3])]
queue = cl.CommandQueue(cl.Context([device]))
a, b = (np.random.default_rng(n).random((70, 70), "float32") for n in (1, 2))
c, _ = tuned.gemm(queue, *(cl_array.to_device(queue, x) for x in (a, b)))
np.testing.assert_allclose(c.get(), a @ b, rtol=1e-4)
print("right")
"""


def main() -> int:
    """Try every way, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="gpu")
    parser.add_argument("--stamp", default=str(time.time_ns()), help="so that no cache knows it")
    parser.add_argument("--build-only", action="store_true", help="print the seconds of a build")
    options = parser.parse_args()
    if options.build_only:
        program = open_device(options.device).build(_kernel(HELD_BACK, options.stamp))
        print(f"{program.build_seconds:.3f}")
        return 0
    kernel = _kernel(HELD_BACK, options.stamp)
    other = [sys.executable, "-m", "tests.benchmarks.two_steps", "--build-only"]
    other += ["--device", options.device, "--stamp", options.stamp]
    ways: dict[str, Callable[[Path], str]] = {
        "an ordinary kernel": lambda _: _tuned(_kernel("", options.stamp), options.device),
        "mltune": lambda _: _tuned(kernel, options.device),
        "seconds of a build": lambda _: _built(kernel, options.device),
        "of another process": lambda _: _run(*other),
        "exported Python": lambda folder: _python(kernel, options.device, folder),
        "exported C, compact": lambda folder: _c(kernel, folder, "compact"),
        "exported C, full": lambda folder: _c(kernel, folder, "full"),
        "exported C, made ahead": lambda folder: _c(kernel, folder, "ahead"),
    }
    failed = 0
    for name, way in ways.items():
        with tempfile.TemporaryDirectory() as folder:
            try:
                said = way(Path(folder))
            except Exception as error:  # noqa: BLE001  # whatever it is, the next way is tried
                said = f"NOT RIGHT: {type(error).__name__}: {str(error).strip()[-300:]}"
                failed += 1
        print(f"{name:<24} {said}", flush=True)
    return int(failed > 0)


def _kernel(held_back: str, stamp: str) -> Kernel:
    return Kernel(
        name="one_element",
        family="one_element",
        contraction=CONTRACTION,
        config=Config.of({"rows": 1}),
        source=SOURCE.format(held_back=held_back, one=int(not held_back), stamp=stamp),
        build_options=(),
        work_group=(16, 8, 1),  # a whole group of four warps, as wgmma wants it
        macro_tile=(16, 8),
    )


def _selector(kernel: Kernel) -> Selector:
    entry = PortfolioKernel(
        name=kernel.name,
        family=kernel.family,
        config=kernel.config,
        source_hash=kernel.source_hash,
    )
    return Selector(contraction=CONTRACTION, portfolio=(entry,), tree=Leaf(0))


def _tuned(kernel: Kernel, spec: str) -> str:
    entry = choose(spec)
    device = driver_device(entry)
    queue = cl.CommandQueue(cl.Context([device]))
    a, b = (np.random.default_rng(seed).random((70, 70), "float32") for seed in (1, 2))
    tuned = TunedGemm(_selector(kernel), [kernel])
    c, _ = tuned.gemm(queue, cl_array.to_device(queue, a), cl_array.to_device(queue, b))
    np.testing.assert_allclose(c.get(), a @ b, rtol=1e-4)
    return "right"


def _built(kernel: Kernel, spec: str) -> str:
    return f"{open_device(spec).build(kernel).build_seconds:.3f}"


def _python(kernel: Kernel, spec: str, folder: Path) -> str:
    WRITERS["python"].write(_selector(kernel), [kernel], folder)
    return _run(sys.executable, "-c", PACKAGE, folder, *choose(spec).number.split(":"))


def _c(kernel: Kernel, folder: Path, layout: str) -> str:
    writer = WRITERS["c"] if layout == "compact" else FullCWriter(precompile=("all",))
    files = writer.write(_selector(kernel), [kernel], folder)
    mains = (folder / "example.c", folder / "precompile.c")
    sources = [file for file in files if file.parent == folder and file.suffix == ".c"]
    shared = [file for file in sources if file not in mains]
    if layout == "ahead":
        _run(_compiled(folder / "precompile", folder / "precompile.c", *shared),
             folder / "kernel_binaries")  # fmt: skip
        for path in (folder / "kernel_sources").iterdir():  # so that only binaries can be right
            path.write_text(path.read_text().replace("__kernel", "not OpenCL"))
    said = _run(_compiled(folder / "example", folder / "example.c", *shared))
    assert said.count(" right") == 5, said
    return "right"


def _compiled(program: Path, *files: Path) -> Path:
    home = Path(cl.__file__).parent
    loaders = [*home.glob(".libs/libOpenCL*.so*"),
               *home.parent.glob("pyopencl.libs/libOpenCL*.so*")]  # fmt: skip
    strict = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O2")
    linked = (loaders[0], f"-Wl,-rpath,{loaders[0].parent}", "-lpthread", "-lm")
    _run("gcc", *strict, "-DCL_TARGET_OPENCL_VERSION=120", "-o", program, *files, *linked)
    return program


def _run(*command: object) -> str:
    """Run a program, and return what it printed."""
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False,
        env={"PYOPENCL_HOME": str(Path(cl.__file__).parent), **os.environ},
    )  # fmt: skip
    if done.returncode != 0:
        raise RuntimeError(done.stdout + done.stderr)
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
