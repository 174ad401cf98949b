"""A search's result beside the installed libraries, by a short `mltune bench`.

It runs in a process of its own, so that a library that crashes or hangs does no harm.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mltune.distil.table import entry_of
from mltune.kernel.handwritten.family import NAME as HANDWRITTEN
from mltune.machine import python_module
from mltune.measurement import Measurement
from mltune.problem import Problem, gemm_name
from mltune.run.run_info import RunInfo
from mltune.selector import Leaf, PortfolioKernel, Selector
from mltune.selector.json import write_selector
from mltune.workflow.program_gain import compared

_ROUNDS = 5
TOO_LONG = "the libraries took too long"


@dataclass(frozen=True, slots=True)
class Beside:
    """The chosen kernels beside one library.

    Attributes:
        name: of the library.
        clock: `kernel`, or `call` if the library has no time on the device.
        ratios: by problem, speed / the library's; disturbed problems are missing.
    """

    name: str
    clock: str
    ratios: Mapping[Problem, float]


@dataclass(frozen=True, slots=True)
class Comparing:
    """The comparisons, and the reasons for missing ones."""

    libraries: tuple[Beside, ...] = ()
    reason: str = ""


def compare_with_installed(
    info: RunInfo,
    best: Sequence[Measurement],
    device_number: str,
    seconds: float,
    start_seconds: float,
) -> Comparing:
    """Time the chosen kernels of some sizes and the installed libraries in turns.

    Args:
        info: of the run.
        best: the chosen measurement of each size, in the order in which they are compared.
        device_number: `P:D`, as numbered in this process.
        seconds: after which no size begins.
        start_seconds: what it may take beyond that, as for a library that compiles its kernels.
    """
    if gemm_name(info.contraction) is None or (info.alpha, info.beta) != (1.0, 0.0):
        return Comparing(reason="bench compares BLAS's GEMMs with alpha 1 and beta 0")
    best = [row for row in best if row.family != HANDWRITTEN]
    if not best:
        return Comparing(reason="bench takes generated kernels only")
    problems = [row.problem for row in best]
    names = ("clblast", "numpy") if info.device.kind == "cpu" else ("cublas", "clblast")
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "selector.json"
        write_selector(_selector(info, best), path)
        sizes = [problem.size for problem in problems]
        document = bench_apart(
            path, names, device_number, sizes, seconds, start_seconds=start_seconds
        )
    if isinstance(document, str):
        return Comparing(reason=document)
    return read_comparison(document, problems, names)


def bench_apart(
    selector: Path,
    names: Sequence[str],
    device_number: str,
    sizes: Sequence[tuple[int, ...]],
    seconds: float,
    *,
    start_seconds: float,
    rounds: int = _ROUNDS,
) -> dict[str, Any] | str:
    """Time a selector's kernels and libraries in turns, in a process of its own.

    Args:
        selector: its file, or its folder.
        names: of the libraries.
        device_number: `P:D`, as numbered in this process.
        sizes: in the order in which they are compared.
        seconds: after which no size begins.
        start_seconds: what it may take beyond the time limit.
        rounds: samples of each.

    Returns:
        The output of `mltune bench --json`, or the reason why there is none.
    """
    words = python_module(
        "mltune", "bench", str(selector), "--against", ",".join(names), "--quiet", "--json",
        "--device", device_number, "--rounds", str(rounds), "--time-limit", str(seconds),
        "--sizes", ",".join("x".join(map(str, size)) for size in sizes),
    )  # fmt: skip
    try:
        done = subprocess.run(
            words,
            capture_output=True,
            encoding="utf-8",
            errors="replace",  # a driver may write anything
            timeout=seconds + start_seconds,
        )
        document = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        return TOO_LONG
    except ValueError:
        last = done.stderr.strip().splitlines()[-1:]
        return "; ".join(last) or "mltune bench failed"
    return dict(document)


def read_comparison(
    document: Mapping[str, Any], problems: Sequence[Problem], names: Sequence[str]
) -> Comparing:
    """Read the ratios from the output of `mltune bench --json`."""
    by_size = {problem.size: problem for problem in problems}
    found = tuple(
        Beside(each.library, each.clock, {by_size[one.size]: one.ratio for one in each.sizes})
        for each in compared({"": document}, {}, names)
    )
    disturbed = any(size["disturbed"] for size in document["sizes"])
    absent = "; ".join(f"{name}: {why}" for name, why in document["absent"].items())
    reason = "other work disturbed the samples" if disturbed else absent if not found else ""
    return Comparing(found, reason)


def _selector(info: RunInfo, best: Sequence[Measurement]) -> Selector:
    """Make a selector of the chosen kernels with their sizes; the first serves all others."""
    kernels: dict[str, PortfolioKernel] = {}
    for row in best:
        kernels.setdefault(row.kernel, entry_of(row))
    numbers = {name: number for number, name in enumerate(kernels)}
    exact = tuple(
        ((row.problem.m, row.problem.n, row.problem.k, row.problem.batch), numbers[row.kernel])
        for row in best
    )
    return Selector(
        contraction=info.contraction,
        portfolio=tuple(kernels.values()),
        tree=Leaf(0),
        exact=exact,
    )
