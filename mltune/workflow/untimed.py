"""Sizes of runs on which no shippable kernel has a time, with the reasons."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence

from mltune.distil import LeftOut, Size
from mltune.distil.table import UNSAFE
from mltune.measurement import Measurement, of_problems
from mltune.problem import Problem
from mltune.space import Config


def untimed(
    asked: Iterable[Problem],
    measurements: Sequence[Measurement],
    limited: Collection[Config],
    timed: Collection[Size],
) -> tuple[LeftOut, ...]:
    """Return the sizes that were asked for or measured, but have no time, with the reasons.

    Args:
        asked: the problems of the runs.
        measurements: of all runs.
        limited: configs that support multiples only.
        timed: sizes with a time of a kernel that may ship.
    """
    rows: dict[Size, list[Measurement]] = defaultdict(list)
    for problem in asked:
        rows[Size.of(problem)] = []
    for row, size in zip(measurements, of_problems(measurements, Size.of), strict=True):
        rows[size].append(row)
    unsafe = {row.kernel for row in measurements if row.status in UNSAFE}
    return tuple(
        LeftOut(size, _reason(rows[size], unsafe, limited))
        for size in sorted(rows)
        if size not in timed
    )


def _reason(
    rows: Sequence[Measurement], unsafe: Collection[str], limited: Collection[Config]
) -> str:
    if not rows:
        return "not measured before the run ended"
    right = [row for row in rows if row.median is not None]
    if not right:
        counts = Counter(row.status.value for row in rows)
        return "no kernel was right: " + ", ".join(f"{n} {s}" for s, n in counts.most_common())
    safe = [row for row in right if row.kernel not in unsafe]
    if not safe:
        return "all kernels that were right on it were wrong on other sizes"
    if all(row.config in limited for row in safe):
        return "all kernels that were right on it take multiples only"
    return "no leader was timed on it"
