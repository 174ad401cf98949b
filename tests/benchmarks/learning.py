"""How good is what ten calls of a size teach? In Python and through exported C.

    python -m tests.benchmarks.learning --selector nvidia-h200/sgemm_nn --device gpu
    python -m tests.benchmarks.learning --selector S.json --device cpu --most-flops 2e7 --sizes 8

Sizes are drawn by a seed (log-uniform sides, half of them multiples of 16; with `--layers`, layers
of the suite `models` with another n, log-uniform up to 4096) among those that were not measured.
Each is called ten times while selection learns, and then ninety times more; all
kernels are built before. Every kernel of the portfolio is timed on each size in rounds: the share
is the least median / the median of the one in use. It is given by two clocks. In trains, behind a
kernel that holds the queue, a time is sure to a percent. Call by call and by events, as learning
sees it, a time of 10 us is off by 1 us: the least of many medians is luck, and the best kernel's
share may be below 1. The lines `best by half` say how much that is: who is best by one half of the
rounds, judged by the other. Then a thousand calls that learn are timed beside as many that do
not, for several sizes, in turns.

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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array

from mltune.bench.device_clock import DeviceClock
from mltune.errors import MltuneError
from mltune.export import WRITERS
from mltune.problem.sizes import parse_sizes
from mltune.runtime.learning import candidates
from mltune.runtime.loading import load
from mltune.runtime.tuned_gemm import TunedGemm
from mltune.selector import Reason

CALLS, MORE, MANY = 10, 100, 1000
LEAST_ROUNDS = 15
TRAIN_ROUNDS, TRAIN_SECONDS, MOST_IN_TRAIN = 4, 0.5e-3, 24
WARM = 20
"""Launches before the first that is timed, after which the clocks have risen."""

HOPELESS = 1.5
"""A kernel that took so many times the best is not timed again."""

Size = tuple[int, int, int]
Runs = list[list[float]]
SMALL = (64, 64, 64)


@dataclass(slots=True)
class Bench:
    """A queue with times, a selector, and matrices that every size finds room in.

    No product is written where the next one reads: products of products soon are infinite, and
    single precision from halves takes far longer for those.
    """

    queue: cl.CommandQueue
    tuned: TunedGemm
    operands: cl_array.Array
    results: cl_array.Array
    clock: DeviceClock

    def matrices(self, size: Size) -> list[cl_array.Array]:
        """Return A, B and C of a problem type NN, column-major."""
        m, n, k = size
        behind_a = (m * k + 63) // 64 * 64
        parts = (
            self.operands[: m * k].reshape((m, k), order="F"),
            self.operands[behind_a : behind_a + k * n].reshape((k, n), order="F"),
            self.results[: m * n].reshape((m, n), order="F"),
        )
        return list(parts)

    def seconds(self, size: Size, kernel: int) -> float:
        """Return the time of one launch by events; infinite if the kernel does not run."""
        try:
            _, events = self.tuned.enqueue(self.queue, *self.matrices(size), kernel=kernel)
        except (MltuneError, cl.Error):
            return float("inf")
        events[-1].wait()
        return float(events[-1].profile.end - events[0].profile.start) * 1e-9

    def in_train(self, size: Size, kernel: int, alone: float) -> float:
        """Return the time of one launch in a sequence; `alone` is its time by itself."""
        matrices = self.matrices(size)

        def call(queue: cl.CommandQueue) -> None:
            self.tuned.enqueue(queue, *matrices, kernel=kernel, watched=False)

        count = min(max(round(TRAIN_SECONDS / alone), 2), MOST_IN_TRAIN)
        return self.clock.seconds(call, count) or alone

    def truth(self, size: Size, seconds: float) -> tuple[Runs, Runs]:
        """Times of every kernel, in rounds, so that drift meets all of them; one if hopeless.

        Kernels that a call may use are never hopeless: a first time is the sum of a launch and
        of clocks that rise, and says little about a kernel of a few us.

        Returns:
            Those call by call, and those in trains.
        """
        numbers = range(len(self.tuned.selector.portfolio))
        used = candidates(self.tuned.selector, (*size, 1))
        for _ in range(WARM):
            self.seconds(size, used[0])
        # The median, as single events are now and then far too short.
        first = [statistics.median(self.seconds(size, each) for _ in range(3)) for each in numbers]
        most = HOPELESS * min(first)
        hopeful = [
            each for each in numbers if first[each] < (float("inf") if each in used else most)
        ]
        runs: Runs = [[] if each in hopeful else [first[each]] for each in numbers]
        trains: Runs = [[*each] for each in runs]
        begin = time.perf_counter()
        while len(runs[hopeful[0]]) < LEAST_ROUNDS or time.perf_counter() < begin + seconds:
            for kernel in hopeful:
                runs[kernel].append(self.seconds(size, kernel))
        for _ in range(TRAIN_ROUNDS):
            for kernel in hopeful:
                trains[kernel].append(self.in_train(size, kernel, first[kernel]))
        return runs, trains


def medians(runs: Sequence[Sequence[float]]) -> list[float]:
    """Seconds of each kernel; infinite if it has no time."""
    return [statistics.median(times) if times else float("inf") for times in runs]


def drawn(
    tuned: TunedGemm, count: int, most_flops: float, seed: int, layers: Sequence[Size] = ()
) -> list[Size]:
    """Draw sizes that were not measured, with the m and k of layers if there are any."""
    rng = np.random.default_rng(seed)
    found: list[Size] = []
    while len(found) < count:
        sides = np.exp(rng.uniform(np.log(16), np.log(8192), 3))
        step = 16 if rng.random() < 0.5 else 1
        m, n, k = (max(step, int(side) // step * step) for side in sides)
        if layers:
            m, _, k = layers[int(rng.integers(len(layers)))]
            n = int(np.exp(rng.uniform(0, np.log(4096))))
        is_known = tuned.selector.choose(m, n, k).reason is Reason.EXACT
        if 2 * m * n * k <= most_flops and m * n + m * k + k * n <= 6e7 and not is_known:
            found.append((m, n, k))
    return found


class InPython:
    """Calls from Python; each waits for its result."""

    def __init__(self, bench: Bench, selector: Path) -> None:
        self._bench, self._selector = bench, selector
        self._tuned = bench.tuned
        self._loaded: dict[Path | None, TunedGemm] = {}

    def start(self, file: Path | None, *, builds: bool = True) -> None:
        """Learn in a file from now on."""
        if builds and file in self._loaded:
            self._tuned = self._loaded[file]
            return
        self._tuned = load(self._selector, learn=file)
        if builds:
            self._loaded[file] = self._tuned
            for kernel in range(len(self._tuned.kernels)):
                self._tuned.gemm(self._bench.queue, *self._bench.matrices(SMALL), kernel=kernel)
            self._bench.queue.finish()

    def call(self, size: Size) -> None:
        """Compute a product."""
        self._tuned.gemm(self._bench.queue, *self._bench.matrices(size))
        self._bench.queue.finish()

    def stop(self) -> None:
        """Save what was learned."""
        self._tuned.save_learned()


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


class InC:
    """Calls of the exported function."""

    def __init__(self, bench: Bench, shared: Path) -> None:
        self._bench = bench
        home = Path(cl.__file__).parent
        for loader in (
            *home.glob(".libs/libOpenCL*"),
            *home.parent.glob("pyopencl.libs/libOpenCL*"),
        ):
            ctypes.CDLL(str(loader), mode=ctypes.RTLD_GLOBAL)
        self._library = ctypes.CDLL(str(shared))
        header = next(
            file
            for file in shared.parent.glob("mltune_*.h")
            if "_select" not in file.name and "_kernels" not in file.name
        )
        self._name = header.stem
        self._factor = ctypes.c_double if self._name.startswith("mltune_d") else ctypes.c_float
        self._with = self._library[f"{self._name}_with"]

    def start(self, file: Path | None, *, builds: bool = True) -> None:
        """Learn in a file from now on."""
        if not builds:
            self._library[f"{self._name}_release"]()
        status = self._library[f"{self._name}_learn"](str(file).encode() if file else None)
        if status != 0:
            raise SystemExit(f"{self._name}_learn: {status}")
        for kernel in range(len(self._bench.tuned.kernels) if builds else 0):
            self.call(SMALL, kernel)

    def call(self, size: Size, kernel: int = -1) -> None:
        """Compute a product."""
        a, b, c = self._bench.matrices(size)
        listed: list[object] = [ctypes.c_int64(extent) for extent in size] + [self._factor(1.0)]
        for matrix in (a, b):
            listed += _matrix(matrix)
        queue = ctypes.c_void_p(self._bench.queue.int_ptr)
        listed += [self._factor(0.0), *_matrix(c), queue, ctypes.c_uint32(0), None, None]
        if (code := self._with(*listed, ctypes.c_int(kernel))) != 0 and kernel < 0:
            raise SystemExit(f"{self._name}{size}: {code}")
        self._bench.queue.finish()

    def stop(self) -> None:
        """Save what was learned, and learn no more."""
        self._library[f"{self._name}_learn"](None)


def _matrix(matrix: cl_array.Array) -> list[object]:
    """Return a matrix's buffer, offset and leading dimension."""
    offset = matrix.offset // matrix.dtype.itemsize
    memory = matrix.base_data
    assert isinstance(memory, cl.MemoryObjectHolder)
    return [
        ctypes.c_void_p(memory.int_ptr),
        ctypes.c_int64(offset),
        ctypes.c_int64(matrix.shape[0]),
    ]


def learned_numbers(tuned: TunedGemm, file: Path, sizes: Sequence[Size]) -> list[int]:
    """Return the kernel that a call launches now: the learned one, or else the rule's."""
    names = [kernel.name for kernel in tuned.selector.portfolio]
    rows = json.loads(file.read_text())["learned"] if file.exists() else []
    known = {tuple(row["size"]): names.index(row["kernel"]) for row in rows}
    return [known.get((*size, 1), tuned.selector.choose(*size).index) for size in sizes]


def shares(times: Sequence[Sequence[float]], chosen: Sequence[int]) -> str:
    """Return best time / chosen time."""
    return told([min(row) / row[number] for row, number in zip(times, chosen, strict=True)])


def say(name: str, times: Mapping[str, Runs], chosen: Sequence[int]) -> None:
    """Print the shares by each clock."""
    print(f"  {name:16} " + "   ".join(shares(each, chosen) for each in times.values()))


def told(found: Sequence[float]) -> str:
    """Return the geometric mean, the 10th percentile and the minimum."""
    mean = statistics.geometric_mean(max(share, 1e-9) for share in found)
    return f"{mean:.4f} / {float(np.percentile(found, 10)):.3f} / {min(found):.3f}"


def thousand(way: InPython | InC, size: Size) -> float:
    """Return the seconds of a thousand calls."""
    begin = time.perf_counter()
    for _ in range(MANY):
        way.call(size)
    return time.perf_counter() - begin


def slower(way: InPython | InC, sizes: Sequence[Size], folder: Path, *, builds: bool) -> str:
    """Time of a thousand calls that learn / of as many that do not, for each size.

    Those that do not are timed before and after; their ratio says what is noise.
    """
    folder.mkdir(exist_ok=True)
    ratios, noise = [], []
    for size in sizes:
        spent = []
        for file in (None, folder / f"many-{builds}.json", None):
            way.start(file, builds=builds)
            if not builds:
                way.call(size)  # which builds the chosen kernel
            spent.append(thousand(way, size))
            way.stop()
        ratios.append(2 * spent[1] / (spent[0] + spent[2]))
        noise.append(spent[2] / spent[0])
    listed = ", ".join(f"{ratio:.3f}" for ratio in ratios)
    return (
        f"{statistics.geometric_mean(ratios):.4f} (each: {listed}); "
        f"after / before without: {min(noise):.3f} to {max(noise):.3f}"
    )


def main() -> None:
    """Learn, then judge what was learned."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--selector", type=Path, default=Path("nvidia-h200/sgemm_nn"))
    parser.add_argument("--device", default="gpu", choices=("gpu", "cpu"))
    parser.add_argument("--sizes", type=int, default=64)
    parser.add_argument("--most-flops", type=float, default=2e11)
    parser.add_argument("--seconds", type=float, default=0.3, help="to time the kernels of a size")
    parser.add_argument("--seed", type=int, default=2311)
    parser.add_argument("--layers", action="store_true", help="sizes of networks' layers")
    parser.add_argument("--many", type=int, default=8, help="sizes called a thousand times")
    parser.add_argument("--details", type=Path, help="a file for what was chosen for each size")
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
    known = parse_sizes("models") if args.layers else ()
    layers = [(m, n, k) for m, n, k in (size.extents[:3] for size in known)]
    sizes = drawn(tuned, args.sizes, args.most_flops, args.seed, layers)
    dtype = tuned.selector.contraction.precision.dtype
    most = max(m * k + k * n for m, n, k in (*sizes, SMALL)) + 64
    numbers = np.random.default_rng(0).standard_normal(most).astype(dtype)
    results = cl_array.zeros(queue, max(m * n for m, n, _ in (*sizes, SMALL)), dtype)
    clock = DeviceClock(cl.CommandQueue(context))
    bench = Bench(queue, tuned, cl_array.to_device(queue, numbers), results, clock)
    folder = Path(tempfile.mkdtemp())
    begin = time.perf_counter()
    both = [bench.truth(size, args.seconds) for size in sizes]
    clocks = {"in trains": [trains for _, trains in both], "alone": [runs for runs, _ in both]}
    times = {clock: [medians(each) for each in runs] for clock, runs in clocks.items()}
    print(f"{devices[0].name}, {len(tuned.kernels)} kernels, {len(sizes)} sizes, seed {args.seed}")
    spent = time.perf_counter() - begin
    print(f"every kernel timed: {spent:.1f} s, {clock_step(clocks['alone'])}")
    print("share of the portfolio's best: geometric mean / 10th percentile / worst")
    print(f"  {'':16} " + "   ".join(f"{clock:22}" for clock in clocks))
    halved = []
    for runs in clocks.values():
        halves = [
            [medians([row[half::2] or row for row in each]) for each in runs] for half in (0, 1)
        ]
        best = [min(range(len(row)), key=row.__getitem__) for row in halves[0]]
        halved.append(shares(halves[1], best))
    print(f"  {'best by half':16} " + "   ".join(halved))
    rule = [tuned.selector.choose(*size).index for size in sizes]
    say("the rule", times, rule)
    tried = [candidates(tuned.selector, (*size, 1)) for size in sizes]
    sure = times["in trains"]
    best = [min(each, key=row.__getitem__) for each, row in zip(tried, sure, strict=True)]
    say("best of tried", times, best)
    ways: dict[str, InPython | InC] = {"Python": InPython(bench, args.selector)}
    shared = args.built / "library.so" if args.built else build(tuned, folder / "c")
    if shared is not None:
        ways["C"] = InC(bench, shared)
    for name, way in ways.items():
        for calls in (CALLS, MORE):
            file = folder / f"{name}-{calls}.json"
            way.start(file)
            begin = time.perf_counter()
            for size in sizes:
                for _ in range(calls):
                    way.call(size)
            spent = time.perf_counter() - begin
            way.stop()
            chosen = learned_numbers(tuned, file, sizes)
            say(f"{name} {calls} calls", times, chosen)
            print(f"  {'':16} ({spent:.1f} s)", flush=True)
            if args.details:
                args.details.parent.mkdir(parents=True, exist_ok=True)
                with args.details.open("a") as to:
                    row = {"way": name, "calls": calls, "chosen": chosen, "rule": rule}
                    row |= {"tried": tried, "sizes": sizes, "times": times}
                    print(json.dumps(row), file=to)
    some = sorted(sizes, key=lambda size: min(sure[sizes.index(size)]))[: len(sizes) // 2]
    some = some[:: max(1, len(some) // args.many)][: args.many]
    for name, way in ways.items():
        for builds in (True, False):
            which = "all kernels built" if builds else "one kernel built"
            ratios = slower(way, some[:: 1 if builds else 2], folder / name, builds=builds)
            print(f"a thousand calls, {name}, {which}: {ratios}", flush=True)


def clock_step(runs: Sequence[Sequence[Sequence[float]]]) -> str:
    """Return the smallest difference between two times: the step of the clock."""
    seen = sorted({round(seconds * 1e9) for each in runs for row in each for seconds in row})
    return f"clock step {min(np.diff(seen), default=0)} ns"


if __name__ == "__main__":
    main()
