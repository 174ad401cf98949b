"""How good is what ten calls of a size teach? In Python and through exported C.

    python -m tests.benchmarks.learning --selector nvidia-h200/sgemm_nn --device gpu
    python -m tests.benchmarks.learning --selector S.json --device cpu --most-flops 2e7 --sizes 8

Sizes are drawn by a seed (log-uniform sides, half of them multiples of 16) among those that were
not measured. Each is called ten times while selection learns. Then every kernel of the portfolio
is timed on it, in rounds and by events: the share is the best kernel's time / the chosen one's.
A line at the end says how much longer calls take that learn, over a thousand of them.

C needs a compiler and OpenCL's headers. Without them, `--built FOLDER` takes what `--build FOLDER`
made on another machine.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array

from mltune.errors import MltuneError
from mltune.export import WRITERS
from mltune.runtime.learning import candidates
from mltune.runtime.tuned_gemm import TunedGemm, load
from mltune.selector import Reason

CALLS, MANY = 10, 1000
HOPELESS = 3.0
"""A kernel that took so many times the best is not timed again."""

Size = tuple[int, int, int]
Call = Callable[[Size], None]


@dataclass(slots=True)
class Bench:
    """A queue with times, a selector, and matrices that every size finds room in."""

    queue: cl.CommandQueue
    tuned: TunedGemm
    memory: cl_array.Array

    def matrices(self, size: Size) -> list[cl_array.Array]:
        """A, B and C of a problem type NN, column by column."""
        m, n, k = size
        found, offset = [], 0
        for rows, columns in ((m, k), (k, n), (m, n)):
            part = self.memory[offset : offset + rows * columns]
            found.append(part.reshape((rows, columns), order="F"))
            offset += (rows * columns + 63) // 64 * 64
        return found

    def seconds(self, size: Size, kernel: int) -> float:
        """One launch, by events; infinite where the kernel does not run."""
        try:
            _, events = self.tuned.enqueue(self.queue, *self.matrices(size), kernel=kernel)
        except (MltuneError, cl.Error):
            return float("inf")
        events[-1].wait()
        return float(events[-1].profile.end - events[0].profile.start) * 1e-9

    def truth(self, size: Size, rounds: int) -> list[float]:
        """The median time of every kernel, in rounds, so that drift meets all of them."""
        count = len(self.tuned.selector.portfolio)
        first = [min(self.seconds(size, kernel) for _ in range(2)) for kernel in range(count)]
        runs = [[] if taken > HOPELESS * min(first) else [taken] for taken in first]
        for _ in range(rounds):
            for kernel, times in enumerate(runs):
                if times:
                    times.append(self.seconds(size, kernel))
        return [statistics.median(times[1:]) if times else float("inf") for times in runs]


def drawn(tuned: TunedGemm, count: int, most_flops: float, seed: int) -> list[Size]:
    """Sizes that were not measured."""
    rng = np.random.default_rng(seed)
    found: list[Size] = []
    while len(found) < count:
        sides = np.exp(rng.uniform(np.log(16), np.log(8192), 3))
        step = 16 if rng.random() < 0.5 else 1
        m, n, k = (max(step, int(side) // step * step) for side in sides)
        is_known = tuned.selector.choose(m, n, k).reason is Reason.EXACT
        if 2 * m * n * k <= most_flops and m * n + m * k + k * n <= 6e7 and not is_known:
            found.append((m, n, k))
    return found


def called_from_python(bench: Bench, tuned: TunedGemm) -> Call:
    """A call as a user makes it, that waits for its result."""

    def call(size: Size) -> None:
        tuned.gemm(bench.queue, *bench.matrices(size))
        bench.queue.finish()

    return call


def build(tuned: TunedGemm, folder: Path) -> Path | None:
    """Export the selector as C, and make a shared library; None without a compiler."""
    compiler = shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return None
    files = WRITERS["c"].write(tuned.selector, tuned.kernels, folder)
    sources = [file for file in files if file.suffix == ".c" and file.name != "example.c"]
    shared = folder / "library.so"
    command: list[str | Path] = [
        compiler,
        "-std=c99",
        "-O2",
        "-shared",
        "-fPIC",
        "-o",
        shared,
        *sources,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"C is left out: {done.stderr.splitlines()[0]}")
        return None
    return shared


def called_from_c(bench: Bench, shared: Path, learned: Path | None) -> Call:
    """The exported function, that learns in a file."""
    home = Path(cl.__file__).parent
    for loader in (*home.glob(".libs/libOpenCL*"), *home.parent.glob("pyopencl.libs/libOpenCL*")):
        ctypes.CDLL(str(loader), mode=ctypes.RTLD_GLOBAL)
    library = ctypes.CDLL(str(shared))
    header = next(file for file in shared.parent.glob("mltune_*.h") if "_select" not in file.name
                  and "_kernels" not in file.name)  # fmt: skip
    name = header.stem
    status = library[f"{name}_learn"](str(learned).encode() if learned else None)
    if status != 0:
        raise SystemExit(f"{name}_learn: {status}")
    factor = ctypes.c_double if name.startswith("mltune_d") else ctypes.c_float
    function, queue = library[name], ctypes.c_void_p(bench.queue.int_ptr)

    def call(size: Size) -> None:
        m, n, k = size
        a, b, c = bench.matrices(size)
        listed: list[object] = [ctypes.c_int64(extent) for extent in size] + [factor(1.0)]
        for matrix in (a, b):
            listed += _matrix(matrix)
        listed += [factor(0.0), *_matrix(c), queue, ctypes.c_uint32(0), None, None]
        if (code := function(*listed)) != 0:
            raise SystemExit(f"{name}({m}, {n}, {k}): {code}")
        bench.queue.finish()

    return call


def _matrix(matrix: cl_array.Array) -> list[object]:
    """Buffer, offset and leading dimension."""
    offset = matrix.offset // matrix.dtype.itemsize
    memory = matrix.base_data
    assert isinstance(memory, cl.MemoryObjectHolder)
    return [
        ctypes.c_void_p(memory.int_ptr),
        ctypes.c_int64(offset),
        ctypes.c_int64(matrix.shape[0]),
    ]


def learned_numbers(tuned: TunedGemm, file: Path, sizes: Sequence[Size]) -> list[int]:
    """What is launched now: what was learned, or else what the rule says."""
    names = [kernel.name for kernel in tuned.selector.portfolio]
    rows = json.loads(file.read_text())["learned"] if file.exists() else []
    known = {tuple(row["size"]): names.index(row["kernel"]) for row in rows}
    return [known.get((*size, 1), tuned.selector.choose(*size).index) for size in sizes]


def shares(times: Sequence[Sequence[float]], chosen: Sequence[int]) -> str:
    """Geometric mean, 10th percentile and minimum of best time / chosen time."""
    found = [min(row) / row[number] for row, number in zip(times, chosen, strict=True)]
    mean = statistics.geometric_mean(max(share, 1e-9) for share in found)
    return f"{mean:.4f} / {float(np.percentile(found, 10)):.3f} / {min(found):.3f}"


def slower(bench: Bench, sizes: Sequence[Size], selector: Path, folder: Path) -> list[float]:
    """Time of a thousand calls that learn / of as many that do not, for each size."""
    found = []
    for place, size in enumerate(sizes):
        spent = []
        for learn in (None, folder / f"many-{place}.json"):
            call = called_from_python(bench, load(selector, learn=learn))
            call(size)  # builds the chosen kernel, which both do once
            begin = time.perf_counter()
            for _ in range(MANY):
                call(size)
            spent.append(time.perf_counter() - begin)
        found.append(spent[1] / spent[0])
    return found


def main() -> None:
    """Learn, then judge what was learned."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--selector", type=Path, default=Path("nvidia-h200/sgemm_nn"))
    parser.add_argument("--device", default="gpu", choices=("gpu", "cpu"))
    parser.add_argument("--sizes", type=int, default=64)
    parser.add_argument("--most-flops", type=float, default=2e11)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=2311)
    parser.add_argument("--many", type=int, default=4, help="sizes called a thousand times")
    parser.add_argument("--build", type=Path, help="only build the C library there")
    parser.add_argument("--built", type=Path, help="where it was built")
    args = parser.parse_args()
    tuned = load(args.selector, check=False)
    if args.build:
        print(build(tuned, args.build))
        return
    wanted = cl.device_type.GPU if args.device == "gpu" else cl.device_type.CPU
    devices = [
        device for platform in cl.get_platforms() for device in platform.get_devices(wanted)
    ]
    context = cl.Context(devices[:1])
    profiling = cl.command_queue_properties.PROFILING_ENABLE
    queue = cl.CommandQueue(context, properties=profiling)
    sizes = drawn(tuned, args.sizes, args.most_flops, args.seed)
    dtype = tuned.selector.contraction.precision.dtype
    most = max(m * n + m * k + k * n for m, n, k in sizes) + 3 * 64
    numbers = np.random.default_rng(0).standard_normal(most).astype(dtype)
    bench = Bench(queue, tuned, cl_array.to_device(queue, numbers))
    folder = Path(tempfile.mkdtemp())
    begin = time.perf_counter()
    times = [bench.truth(size, args.rounds) for size in sizes]
    print(f"{devices[0].name}, {len(tuned.kernels)} kernels, {len(sizes)} sizes, seed {args.seed}")
    print(f"every kernel timed: {time.perf_counter() - begin:.1f} s")
    print("share of the portfolio's best: geometric mean / 10th percentile / worst")
    rule = [tuned.selector.choose(*size).index for size in sizes]
    print(f"  the rule        {shares(times, rule)}")
    tried = [candidates(tuned.selector, (*size, 1)) for size in sizes]
    best = [min(each, key=row.__getitem__) for each, row in zip(tried, times, strict=True)]
    print(f"  best of tried   {shares(times, best)}")
    ways = {"Python": folder / "python.json"}
    calls = {"Python": called_from_python(bench, load(args.selector, learn=ways["Python"]))}
    shared = args.built / "library.so" if args.built else build(tuned, folder / "c")
    if shared is not None:
        ways["C"] = folder / "c.json"
        calls["C"] = called_from_c(bench, shared, ways["C"])
    for name, call in calls.items():
        begin = time.perf_counter()
        for size in sizes:
            for _ in range(CALLS):
                call(size)
        chosen = learned_numbers(tuned, ways[name], sizes)
        spent = time.perf_counter() - begin
        print(f"  learned, {name:6} {shares(times, chosen)}   ({spent:.1f} s)")
    if args.many:
        small = sorted(sizes, key=np.prod)[: args.many]
        ratios = slower(bench, small, args.selector, folder)
        print(
            f"a thousand calls that learn / that do not: {', '.join(f'{r:.3f}' for r in ratios)}"
        )


if __name__ == "__main__":
    main()
