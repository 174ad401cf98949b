"""How a search used its budget: builds, sizes, failures."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from mltune.measurement.measurement import Measurement, Phase, Status
from mltune.problem import Problem


@dataclass(frozen=True, slots=True)
class SizeEffort:
    """The effort for a size, and its result.

    Attributes:
        timed: how many configs were timed on it.
        kernel_seconds: run time of its kernels, in timed launches only.
        first_seconds: the first measured time; None if there is none.
        best_seconds: the best time; None if there is none.
        last_gain: the last trial that improved it; None if no result was right.
    """

    problem: Problem
    timed: int
    kernel_seconds: float
    first_seconds: float | None
    best_seconds: float | None
    last_gain: int | None

    @classmethod
    def of(cls, problem: Problem, rows: Sequence[Measurement]) -> SizeEffort:
        """Sum up the measurements of a size, in the order they were made."""
        right = [(median, row.trial) for row in rows if (median := row.median) is not None]
        best, trial = min(right, default=(None, None))
        return cls(
            problem=problem,
            timed=len(rows),
            kernel_seconds=math.fsum(second for row in rows for second in row.seconds),
            first_seconds=right[0][0] if right else None,
            best_seconds=best,
            last_gain=trial,
        )


@dataclass(frozen=True, slots=True)
class Effort:
    """How a search used its budget.

    Attributes:
        trials: how many there were.
        failures: of the trials, by status, the most frequent first.
        build_seconds: of all builders together.
        sizes: in the order of the options.
    """

    trials: int
    failures: tuple[tuple[str, int], ...]
    build_seconds: float
    sizes: tuple[SizeEffort, ...]

    @classmethod
    def of(cls, measurements: Iterable[Measurement], problems: Sequence[Problem]) -> Effort:
        """Sum up the trials of a search.

        Args:
            measurements: of one run; those of final rounds do not count.
            problems: that were searched on.
        """
        rows = [row for row in measurements if row.phase == Phase.SEARCH]
        failed = {row.trial: row.status.value for row in rows if row.status is not Status.OK}
        by_problem: dict[Problem, list[Measurement]] = {problem: [] for problem in problems}
        for row in rows:
            by_problem.setdefault(row.problem, []).append(row)
        return cls(
            trials=len({row.trial for row in rows}),
            failures=tuple(Counter(failed.values()).most_common()),
            build_seconds=math.fsum(row.compile_seconds or 0 for row in rows),
            sizes=tuple(SizeEffort.of(problem, found) for problem, found in by_problem.items()),
        )

    @property
    def timed(self) -> int:
        """How many times a config was timed on a size."""
        return sum(size.timed for size in self.sizes)

    @property
    def kernel_seconds(self) -> float:
        """Run time of the timed kernels."""
        return math.fsum(size.kernel_seconds for size in self.sizes)

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping."""
        return {
            "trials": self.trials,
            "failures": dict(self.failures),
            "build_seconds": round(self.build_seconds, 3),
            "kernel_seconds": round(self.kernel_seconds, 6),
            "sizes": [
                {
                    "sizes": list(size.problem.size),
                    "timed": size.timed,
                    "kernel_seconds": round(size.kernel_seconds, 6),
                    "first_seconds": size.first_seconds,
                    "best_seconds": size.best_seconds,
                    "last_gain_trial": size.last_gain,
                }
                for size in self.sizes
            ],
        }
