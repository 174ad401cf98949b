"""Is a binary that another process built worth its way to the process that measures?

    python tests/benchmarks/offline_builds.py --kernels 20

One process builds kernels on PoCL with an empty cache and launches each once, as PoCL compiles
at the first launch; then it takes the driver's binaries. A second process, with an empty cache of
its own as on another host, loads and launches them. Prints for both the seconds a kernel at the
median, by the clock and of processor time with that of the compiler's child processes, and the
size of a binary.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import cast

import numpy as np
import pyopencl as cl

from mltune.device import choose
from mltune.device.opencl.device import OpenCLDevice
from mltune.device.opencl.program import OpenCLProgram
from mltune.kernel import Kernel
from mltune.kernel.families import FAMILIES
from mltune.kernel.space_file import load_space
from mltune.problem import Precision, gemm
from mltune.resources import data_folder
from mltune.runner.probe import probe_problem
from mltune.runner.workspace import Workspace
from mltune.space.names import outside_names

_WIDEST = 8  # kernels of wider vectors take PoCL tens of seconds, and would decide every mean


def main() -> None:
    """Build in one process, load in another, print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--kernels", type=int, default=20)
    parser.add_argument("--step", choices=("build", "load"), help="what a child process does")
    parser.add_argument("--folder", type=Path, help="of the binaries")
    options = parser.parse_args()
    if options.step:
        print(json.dumps(_step(options.step, options.folder, options.kernels)))
        return
    print("| step | seconds | processor seconds | KiB |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for step in ("build", "load"):
            cache = Path(folder) / f"cache-{step}"
            cache.mkdir()
            done = subprocess.run(
                [
                    *(sys.executable, __file__, "--step", step, "--folder", folder),
                    *("--kernels", str(options.kernels)),
                ],
                env={**os.environ, "POCL_CACHE_DIR": str(cache)},
                check=True,
                stdout=subprocess.PIPE,
                text=True,
            )
            rows = json.loads(done.stdout.splitlines()[-1])
            columns = zip(*rows, strict=True)
            clock, processor, size = (statistics.median(column) for column in columns)
            print(f"| {step} and launch | {clock:.3f} | {processor:.3f} | {size / 1024:.0f} |")


def _step(step: str, folder: Path, count: int) -> list[tuple[float, float, int]]:
    """Return what each kernel cost, by the clock and the processors, and its binary's bytes."""
    device = OpenCLDevice(choose("cpu"))
    rows = []
    for number, kernel in enumerate(_kernels(device, count)):
        workspace = Workspace.make(device, probe_problem(kernel), 0)
        path = folder / f"{number}.bin"
        began, used = time.perf_counter(), _processor_seconds()
        program = device.build(kernel) if step == "build" else _load(kernel, path, workspace)
        workspace.launch(program).wait()
        rows.append((time.perf_counter() - began, _processor_seconds() - used))
        if step == "build":
            found = program.functions[0].program.get_info(cl.program_info.BINARIES)
            path.write_bytes(cast(list[bytes], found)[0])
    return [(*row, (folder / f"{number}.bin").stat().st_size) for number, row in enumerate(rows)]


def _kernels(device: OpenCLDevice, count: int) -> list[Kernel]:
    space = load_space(data_folder("spaces") / "tiled-cpu.yaml").bind(
        outside_names(device.info, Precision.SINGLE)
    )
    drawn = space.sample(np.random.default_rng(0), 8 * count)
    quick = [
        config
        for config in drawn
        if max(config.int("vector_width"), config.int("thread_tile_0")) <= _WIDEST
    ]
    return [FAMILIES["tiled"].generate(gemm(Precision.SINGLE), one) for one in quick[:count]]


def _load(kernel: Kernel, path: Path, workspace: Workspace) -> OpenCLProgram:
    context = workspace.c.context
    program = cl.Program(context, context.devices, [path.read_bytes()]).build()
    functions = tuple(cl.Kernel(program, each.entry) for each in kernel.passes)
    return OpenCLProgram(kernel, functions, "", 0.0, local_mem_bytes=0, private_mem_bytes=0)


def _processor_seconds() -> float:
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


if __name__ == "__main__":
    main()
