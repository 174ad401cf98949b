"""Tuned kernels beside installed libraries, on the sizes that cost a program most."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from mltune.bench.peers import COMPILING, absence
from mltune.device import DeviceEntry
from mltune.device_info import DeviceInfo
from mltune.problem import Size, problem_of_size
from mltune.run.run import read_info
from mltune.shell import command
from mltune.tuning.cross_sizes import spread_order, unseen_sizes
from mltune.tuning.progress import Progress, Show
from mltune.workflow.comparing import TOO_LONG, bench_apart
from mltune.workflow.program_gain import Against, compared
from mltune.workflow.tune_plan import Part, expected_seconds

_ROUNDS = 9
_MOST_UNSEEN = 60
_LEAST_SECONDS = 5.0
"""For one problem type: Python alone starts for a second or more."""
_MOST_SPARE = 10.0
"""Of the time: to start and to end the last size, and again for a second try."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A problem type with its selector.

    Attributes:
        run: the folder of its run, which has the sizes.
        selector: its file.
        seen: extents that kernels were timed on.
    """

    part: Part
    run: Path
    selector: Path
    seen: tuple[tuple[int, ...], ...]


def compare_parts(
    chosen: Sequence[Chosen],
    against: Sequence[str],
    entry: DeviceEntry,
    seconds: float,
    show: Show,
    seed: int,
) -> tuple[tuple[Against, ...], tuple[str, ...]]:
    """Time libraries and tuned kernels in turns.

    Args:
        chosen: the problem types, at least one.
        against: names of libraries; those that are not installed are left out.
        entry: the device.
        seconds: for all; problem types share them like the searches' time. A library that
            compiles its kernels for too long is left out.
        show: called with the problem type that is compared.
        seed: of the choice of sizes that no kernel was timed on.

    Returns:
        Each library's comparison, and what is unknown, as text.
    """
    names = [name for name in against if not absence(name, entry.info)]
    if not names:
        return (), ("no library to compare with is installed",)
    documents: dict[str, dict[str, Any]] = {}
    counts: dict[str, dict[tuple[int, ...], int]] = {}
    lacking = []
    end = time.monotonic() + seconds
    shares = [each.part.share for each in chosen]
    taken = names
    for number, each in enumerate(chosen):
        name = each.part.name
        left = max(0.0, end - time.monotonic())
        show(Progress(phase=f"compare {name}", done=number, total=len(chosen), seconds_left=left))
        counts[name] = {size.extents: size.count for size in _sizes(each, entry.info, seed)}
        if number and left <= 0:  # a library that compiles took it all
            documents[name] = {"sizes": []}
            continue
        share = shares[number] / math.fsum(shares[number:])
        bench = partial(_bench, each.selector, entry, [*counts[name]], share)
        document, slow = _in_time(bench, taken, end)
        if slow:
            again = command("mltune", "bench", each.selector.parent)
            lacking.append(
                f"no time for {', '.join(slow)}, which compiles its kernels (compare: {again})"
            )
            taken = [library for library in taken if library not in slow]
        if isinstance(document, str):
            lacking.append(f"{name} beside libraries: {document}")
            continue
        documents[name] = document
    return compared(documents, counts, names), (*lacking, *_missing(documents, counts, chosen))


def _in_time(
    bench: Callable[[Sequence[str], float], dict[str, Any] | str],
    names: Sequence[str],
    end: float,
) -> tuple[dict[str, Any] | str, Sequence[str]]:
    """Time libraries, without those that compile their kernels if these take too long.

    Args:
        bench: times libraries for some seconds.
        names: of the libraries.
        end: of the time, by `time.monotonic`.

    Returns:
        The output, or the reason why there is none; and the libraries that were left out.
    """
    left = max(0.0, end - time.monotonic())
    slow = [name for name in names if name in COMPILING]
    quick = [name for name in names if name not in COMPILING]
    if not slow or not quick:
        return bench(names, left), ()
    spare = min(_MOST_SPARE, left / 2)
    if spare >= _LEAST_SECONDS:
        document = bench(names, left - spare)
        if document != TOO_LONG:
            return document, ()
    return bench(quick, end - time.monotonic()), slow


def _bench(
    selector: Path,
    entry: DeviceEntry,
    sizes: Sequence[tuple[int, ...]],
    share: float,
    names: Sequence[str],
    seconds: float,
) -> dict[str, Any] | str:
    """Time a share of some seconds; a library that compiles may take all of them."""
    seconds = max(_LEAST_SECONDS, seconds)
    limit = share * (seconds - min(_MOST_SPARE, seconds / 2))
    return bench_apart(
        selector,
        names,
        entry.number,
        sizes,
        limit,
        rounds=_ROUNDS,
        start_seconds=seconds - limit,
    )


def _missing(
    documents: Mapping[str, Mapping[str, Any]],
    counts: Mapping[str, Mapping[tuple[int, ...], int]],
    chosen: Sequence[Chosen],
) -> list[str]:
    """Return what is unknown of the sizes that were to be compared, of all problem types."""
    asked = sum(len(counts[name]) for name in documents)
    timed = [size for document in documents.values() for size in document["sizes"]]
    disturbed = sum(bool(size["disturbed"]) for size in timed)
    lines = []
    if disturbed:
        lines.append(f"other work disturbed {disturbed} of {asked} sizes")
    if len(timed) < asked:
        lines.append(f"no time to compare {asked - len(timed)} of {asked} sizes")
    if lines and (disturbed == len(timed) or len(timed) < asked):
        example = command("mltune", "bench", chosen[0].selector.parent)
        where = " on a quiet machine" if disturbed else ""
        lines[-1] += f" (compare{where}: {example})"
    return lines


def _sizes(chosen: Chosen, device: DeviceInfo, seed: int) -> tuple[Size, ...]:
    """Return the sizes to compare on.

    For a program they are the sizes of its calls, the most costly first; for given sizes, these,
    spread out; for a suite, sizes of `models` that no kernel was timed on.
    """
    sizes = read_info(chosen.run).sizes
    contraction = chosen.part.contraction
    if not chosen.part.sizes:
        unseen = unseen_sizes(contraction, chosen.seen, device, seed)
        if unseen:
            return unseen[:_MOST_UNSEEN]
    if not chosen.part.is_counted:
        order = spread_order([size.extents for size in sizes])
        return tuple(sizes[number] for number in order)

    def cost(size: Size) -> float:
        problem = problem_of_size(contraction, size.extents)
        return -size.count * expected_seconds(problem, device)

    return tuple(sorted(sizes, key=cost))
