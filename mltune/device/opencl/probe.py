"""Tests a device: `python -m mltune.device.opencl.probe P:D STEP...`.

Each step prints its answer as one JSON line. A step may crash the process or never end: then
`examination`, which starts it, takes the answers so far and starts again after that step. The
process ends when its standard input is closed.
"""

from __future__ import annotations

import json
import operator
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from math import gcd
from typing import Any

import numpy as np
import pyopencl as cl

from mltune.device.opencl.listing import device_at
from mltune.device.opencl.program import first_error_line
from mltune.device_info import FP16, FP64, SUB_GROUPS

Answer = dict[str, Any]
Array = np.ndarray[Any, np.dtype[Any]]

_ITEMS = 64  # of a launch whose result is checked
_EMPTY_LAUNCHES = 40
_LONG_SECONDS = 0.02  # run time of a kernel that shows whether two clocks agree
_MOST_STEPS = 1 << 26
_AGREEMENT = 0.07
_FAR = (0.5, 2.0)  # other work makes no two clocks disagree that far each time
_TRIES = 10
# least time of the first launch, and its least share of the build's time
_COMPILING_SECONDS, _COMPILING_SHARE = 0.01, 0.05
_STATED_NS = 1_000_000  # a coarser stated resolution is not believed
_LEAST_LOCAL_BYTES = 1024
_SIZES = (8, 16, 32, 64)  # of sub-groups, as in kernels

_LOOP = """
__kernel void mltune_loop(__global uint *out, const uint steps)
{
    uint x = get_global_id(0) + SEED;
    for (uint i = 0; i < steps; ++i)
        x = x * 1664525u + 1013904223u;
    out[get_global_id(0)] = x;
}
"""
_EXCHANGE = """
__kernel __attribute__((reqd_work_group_size(X, Y, 1)))
void mltune_exchange(__global uint *out)
{
    __local uint room[WORDS];
    const uint me = get_local_id(1) * X + get_local_id(0);
    for (uint i = me; i < WORDS; i += X * Y)
        room[i] = i * 2654435761u + get_group_id(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    uint wrong = 0;
    for (uint i = me; i < WORDS; i += X * Y) {
        const uint other = WORDS - 1 - i;
        wrong += room[other] != other * 2654435761u + get_group_id(0);
    }
    out[get_group_id(0) * X * Y + me] = wrong;
}
"""
_ARITHMETIC = """
#pragma OPENCL EXTENSION EXTENSION_NAME : enable
__kernel void mltune_arithmetic(__global REAL *out)
{
    const REAL x = (REAL)(get_global_id(0) + 1);
    out[get_global_id(0)] = fma(x, x, (REAL)1 / (REAL)4) - x;
}
"""
_ATOMICS = """
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
__kernel void mltune_atomics(volatile __global ulong *out)
{
    atom_add(out, (ulong)1 << 33);
}
"""
_SUB_GROUPS = """
#pragma OPENCL EXTENSION EXTENSION_NAME : enable
__kernel void mltune_sub_groups(__global uint *out)
{
    out[get_global_id(0)] = get_max_sub_group_size();
}
"""
_BROADCAST = """
#ifdef cl_khr_subgroups
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
#endif
__kernel __attribute__((reqd_work_group_size(SIZE, 2, 1)))
#ifdef cl_intel_required_subgroup_size
__attribute__((intel_reqd_sub_group_size(SIZE)))
#endif
void mltune_broadcast(__global uint *out)
{
    const uint item = get_sub_group_id() * SIZE + get_sub_group_local_id();
    const float mine = item;
    float sum = 0;
#pragma unroll
    for (uint lane = 0; lane < SIZE; ++lane)
        sum += sub_group_broadcast(mine, lane) * (lane + 1);
    out[get_group_id(0) * 2 * SIZE + item] = get_max_sub_group_size() == SIZE ? (uint)sum : 0;
}
"""


@dataclass(frozen=True, slots=True)
class _Bench:
    """A device with its queue."""

    device: cl.Device
    context: cl.Context
    queue: cl.CommandQueue

    def kernel(self, source: str, **words: object) -> cl.Kernel:
        for word, value in words.items():
            source = source.replace(word, str(value))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cl.CompilerWarning)
            program = cl.Program(self.context, source)
            program.build(cache_dir=False)  # type: ignore[arg-type]  # its annotation forgets False
        return program.all_kernels()[0]

    def buffer(self, array: Array) -> cl.Buffer:
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        return cl.Buffer(self.context, flags, hostbuf=array)

    def result(
        self, kernel: cl.Kernel, out: Array, *more: Any, group: tuple[int, ...] | None = None
    ) -> Array:
        """Launch one work-item for each element of `out`, and return what they wrote."""
        buffer = self.buffer(out)
        sizes = (out.size,) if group is None else (out.size // group[1], group[1])
        kernel(self.queue, sizes, group, buffer, *more)
        found = np.empty_like(out)
        cl.enqueue_copy(self.queue, found, buffer)
        return found


def _launch(bench: _Bench) -> Answer:
    """Whether the simplest kernel gives the right result."""
    found = bench.result(bench.kernel(_LOOP, SEED=7), np.zeros(_ITEMS, np.uint32), np.uint32(1))
    items = np.arange(_ITEMS, dtype=np.uint32)
    return {"works": bool((found == (items + 7) * 1664525 + 1013904223).all())}


def _clock(bench: _Bench) -> Answer:
    """Return the resolution of event times, and whether they agree with the host's clock."""
    kernel = bench.kernel(_LOOP, SEED=11)
    buffer = bench.buffer(np.zeros(1, np.uint32))

    def run(steps: int) -> tuple[float, int, int]:
        bench.queue.finish()
        begin = time.perf_counter()
        event = kernel(bench.queue, (1,), None, buffer, np.uint32(steps))
        bench.queue.finish()
        return (time.perf_counter() - begin, *_times(event))

    run(1)
    steps = 1 << 10
    while run(steps)[0] < _LONG_SECONDS and steps < _MOST_STEPS:
        steps *= 2
    ratios: list[float] = []
    while len(ratios) < _TRIES and not (ratios and abs(ratios[-1] - 1) < _AGREEMENT):
        long, start, end = run(4 * steps)
        short, short_start, short_end = run(steps)
        by_event = ((end - start) - (short_end - short_start)) * 1e-9
        ratios.append(by_event / max(long - short, 1e-9))
    nearest = min(ratios, key=lambda ratio: abs(ratio - 1))
    empty = [run(1) for _ in range(_EMPTY_LAUNCHES)]
    first = empty[0][1]
    step = gcd(*(stamp - first for _, start, end in empty for stamp in (start, end)))
    stated = int(bench.device.profiling_timer_resolution)
    by_host = np.array([seconds for seconds, _, _ in empty]) * 1e9
    median, most = np.percentile(by_host, (50, 90))
    return {
        "ratio": nearest,
        "agrees": _FAR[0] < nearest < _FAR[1] and not _is_sure(ratios),
        "step_ns": max(step, stated if stated < _STATED_NS else 0, 1),
        "launch_ns": int(median),
        "uncertain_ns": max(int(most - median), 1000),
    }


def _times(event: cl.Event) -> tuple[int, int]:
    """Return when a launch began and ended, by the device's clock; zeros if it has none."""
    try:
        return int(event.profile.start), int(event.profile.end)
    except cl.Error:
        return 0, 0


def _is_sure(ratios: list[float]) -> bool:
    """Whether a clock is wrong by the same factor each time, unlike by other work."""
    off = all(abs(ratio - 1) >= _AGREEMENT for ratio in ratios)
    return off and max(ratios) - min(ratios) < _AGREEMENT * max(ratios)


def _compiling(bench: _Bench) -> Answer:
    """Return whether a first launch compiles the kernel, and whether it counts as running then."""
    buffer = bench.buffer(np.zeros(_ITEMS, np.uint32))
    builds, starts, runs, others = [], [], [], []
    for _ in range(3):
        begin = time.perf_counter()
        kernel = bench.kernel(_LOOP, SEED=int.from_bytes(os.urandom(3), "little"))
        built = time.perf_counter()
        event = kernel(bench.queue, (_ITEMS,), None, buffer, np.uint32(1))
        bench.queue.flush()
        running = cl.command_execution_status.RUNNING
        while event.command_execution_status > running:
            time.sleep(1e-4)
        begun = time.perf_counter()
        event.wait()
        ended = time.perf_counter()
        kernel(bench.queue, (_ITEMS,), None, buffer, np.uint32(1)).wait()
        others.append(time.perf_counter() - ended)
        builds.append(built - begin)
        starts.append(begun - built)
        runs.append(ended - begun)
    at_launch = _compiles(builds, list(map(operator.add, starts, runs)), others)
    return {"at_launch": at_launch, "hidden": at_launch and min(runs) > min(starts)}


def _compiles(builds: list[float], firsts: list[float], others: list[float]) -> bool:
    """Whether first launches take longer than others, by as long as it takes to compile.

    The shortest time of each kind counts, as other work delays builds and launches alike.
    """
    longer = min(firsts) - min(others)
    return longer > max(_COMPILING_SECONDS, _COMPILING_SHARE * min(builds))


def _group(bench: _Bench) -> Answer:
    """Return the largest group whose work-items exchange values correctly across a barrier."""
    most = bench.device.max_work_group_size
    widest, highest = bench.device.max_work_item_sizes[:2]
    items = _largest(min(most, widest), 1, lambda items: _exchanges(bench, (items, 1), items * 4))
    height = min(highest, 4, items)
    is_flat = height > 1 and not _exchanges(bench, (items // height, height), 256)
    return {"items": items, "is_flat": is_flat}


def _local(bench: _Bench) -> Answer:
    """Return the most local memory that keeps its contents, and how often it is counted."""
    group = (min(_ITEMS, bench.device.max_work_group_size), 1)
    most = bench.device.local_mem_size // 4 * 4
    nbytes = _largest(most, _LEAST_LOCAL_BYTES, lambda nbytes: _exchanges(bench, group, nbytes))
    kernel = bench.kernel(_EXCHANGE, X=group[0], Y=group[1], WORDS=_LEAST_LOCAL_BYTES)
    query = cl.kernel_work_group_info.LOCAL_MEM_SIZE
    counted = int(kernel.get_work_group_info(query, bench.device))  # type: ignore[call-overload]
    return {"nbytes": nbytes, "count": max(counted // (4 * _LEAST_LOCAL_BYTES), 1)}


def _exchanges(bench: _Bench, group: tuple[int, int], nbytes: int) -> bool:
    try:
        kernel = bench.kernel(_EXCHANGE, X=group[0], Y=group[1], WORDS=max(nbytes // 4, 1))
        out = np.ones(2 * group[0] * group[1], np.uint32)
        return not bench.result(kernel, out, group=group).any()
    except cl.Error:
        return False


def _largest(most: int, least: int, works: Callable[[int], bool]) -> int:
    """Return the largest of `most`, its half, ... that works; 0 if none does."""
    while most >= least:
        if works(most):
            return most
        most //= 2
    return 0


def _double(bench: _Bench) -> Answer:
    return {"works": _computes(bench, "double", FP64, np.float64)}


def _half(bench: _Bench) -> Answer:
    return {"works": _computes(bench, "half", FP16, np.float16)}


def _computes(bench: _Bench, real: str, extension: str, dtype: type) -> bool:
    kernel = bench.kernel(_ARITHMETIC, EXTENSION_NAME=extension, REAL=real)
    found = bench.result(kernel, np.zeros(32, dtype))
    x: Array = np.arange(1, 33).astype(dtype)
    return bool((found == x * x + dtype(0.25) - x).all())


def _atomics(bench: _Bench) -> Answer:
    found = bench.result(bench.kernel(_ATOMICS), np.zeros(_ITEMS, np.uint64))
    return {"works": int(found[0]) == _ITEMS << 33}


def _sub_groups(bench: _Bench) -> Answer:
    extensions = bench.device.extensions.split()
    name = next(each for each in SUB_GROUPS if each in extensions)
    kernel = bench.kernel(_SUB_GROUPS, EXTENSION_NAME=name)
    found = bench.result(kernel, np.zeros(_ITEMS, np.uint32), group=(_ITEMS, 1))
    return {"size": int(found.max()), "sizes": sum(filter(partial(_broadcasts, bench), _SIZES))}


def _broadcasts(bench: _Bench, size: int) -> bool:
    """Whether sub-groups of a size, if a kernel asks for it, broadcast numbers."""
    try:
        kernel = bench.kernel(_BROADCAST, SIZE=size)
        found = bench.result(kernel, np.zeros(4 * size, np.uint32), group=(size, 2))
    except (cl.Error, NotImplementedError):
        return False
    lanes = np.arange(size)
    wanted = [int(((lanes + first) * (lanes + 1)).sum()) for first in (0, size)]
    return bool((found == np.tile(np.repeat(wanted, size), 2)).all())


def _fill(bench: _Bench) -> Answer:
    buffer = bench.buffer(np.zeros(2048, np.uint32))
    cl.enqueue_fill_buffer(bench.queue, buffer, np.full(4, 7, np.uint8), 4096, 4096)
    found = np.empty(8192, np.uint8)
    cl.enqueue_copy(bench.queue, found, buffer)
    return {"works": not found[:4096].any() and bool((found[4096:] == 7).all())}


STEPS: Mapping[str, Callable[[_Bench], Answer]] = {
    "launch": _launch,
    "clock": _clock,
    "compiling": _compiling,
    "group": _group,
    "local": _local,
    "double": _double,
    "half": _half,
    "atomics": _atomics,
    "sub_groups": _sub_groups,
    "fill": _fill,
}
"""The steps in their order. A step that a driver refuses answers with an `error`."""


def answers(device: cl.Device, steps: list[str]) -> Iterator[Answer]:
    """Run each step, and yield its answer, with its name as `step`."""
    context = cl.Context([device])
    profiling = cl.command_queue_properties.PROFILING_ENABLE
    bench = _Bench(device, context, cl.CommandQueue(context, properties=profiling))
    for step in steps:
        try:
            answer = STEPS[step](bench)
        except (cl.Error, NotImplementedError) as error:
            answer = {"error": first_error_line(str(error))}
        yield {"step": step, **answer}


def main(number: str, *steps: str) -> None:
    """Print the answers to standard output; drivers' own output is redirected."""
    threading.Thread(target=_end_with_input, daemon=True).start()
    sink = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for answer in answers(device_at(number), list(steps)):
        sink.write(json.dumps(answer) + "\n")
        sink.flush()
    os._exit(0)  # a driver may hang at the end of the process


def _end_with_input() -> None:
    sys.stdin.buffer.read()
    os._exit(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
