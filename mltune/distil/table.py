"""The time table: how long every kernel takes on every size, with gaps where it is unknown."""

from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mltune.errors import NoCorrectConfigError, UsageError
from mltune.measurement.by_problem import of_problems
from mltune.measurement.measurement import Measurement, Phase, Status
from mltune.problem import Problem, problem_type_name
from mltune.selector import PortfolioKernel

UNSAFE = (Status.WRONG_RESULT, Status.CRASHED)
"""A kernel that ended so on any size never ships."""

MISSING_FACTOR = 10.0
"""A kernel without a time on a size counts as this many times slower than the best one there."""

GAP = math.log(MISSING_FACTOR)
"""The log of `MISSING_FACTOR`."""

EXPECTED_WEIGHT = 0.03
"""The weight in a fit of a time that a model predicts; a measured time has 1.

With 0.03 a formula stays right where its kernel was not timed because it was expected to be slow;
0.1 and 0.3 lost 0.3 and 1.1 % more on held-out sizes of an H200.
"""

LEAST_MET = 0.5
"""A size is left out if fewer than this share of the best known size's kernels were timed on it;
then a kernel is, if it was timed on fewer than this share of the best known kernel's sizes.
"""


class Size(NamedTuple):
    """The extents of a problem, for which a selector chooses."""

    m: int
    n: int
    k: int
    batch: int

    @classmethod
    def of(cls, problem: Problem) -> Size:
        """Return the size of a problem."""
        return cls(problem.m, problem.n, problem.k, problem.batch)

    @property
    def label(self) -> str:
        """Return the size as a user writes it: `MxNxK`, and `xB` if there are several products."""
        return "x".join(map(str, self if self.batch != 1 else self[:3]))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TimeTable:
    """Seconds of kernels on sizes.

    Attributes:
        seconds: one row per size, one column per kernel; nan where it was not measured or failed.
        weights: how much each size counts for the kernels that ship and for trees without a
            teacher, such as the time of its calls.
        expected: seconds that a model predicts for kernels that were not measured on a size; nan
            where it predicts nothing. None for no model.
        met: whether a run that has a size has a kernel, too, by size and kernel; None if all have.

    Raises:
        UsageError: when the shapes do not fit, a size stands twice, a number is not positive, or a
            size has no time at all.
    """

    sizes: tuple[Size, ...]
    kernels: tuple[PortfolioKernel, ...]
    seconds: NDArray[np.float64]
    weights: NDArray[np.float64] | None = None
    expected: NDArray[np.float64] | None = None
    met: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        seconds = np.array(self.seconds, dtype=np.float64)
        weights = np.array(self.size_weights, dtype=np.float64)
        if not self.sizes or not self.kernels:
            raise UsageError("time table: needs at least one size and one kernel")
        if seconds.shape != (len(self.sizes), len(self.kernels)):
            raise UsageError(
                f"time table: {len(self.sizes)} sizes and {len(self.kernels)} kernels, but times "
                f"of shape {seconds.shape}"
            )
        if weights.shape != (len(self.sizes),):
            raise UsageError(
                f"time table: {len(self.sizes)} sizes, but weights of shape {weights.shape}"
            )
        if len(set(self.sizes)) != len(self.sizes):
            raise UsageError("time table: a size stands twice")
        if not np.all(np.isnan(seconds) | ((seconds > 0) & np.isfinite(seconds))):
            raise UsageError("time table: times must be finite and positive, or nan")
        if not np.all((weights > 0) & np.isfinite(weights)):
            raise UsageError("time table: weights must be finite and positive")
        if np.isnan(seconds).all(axis=1).any():
            raise UsageError("time table: a size has no time")
        expected = np.array(self.expected_seconds, dtype=np.float64)
        if expected.shape != seconds.shape or not np.all(np.isnan(expected) | (expected > 0)):
            raise UsageError("time table: expected times must be as many as times, and positive")
        if self.met is not None and np.shape(self.met) != seconds.shape:
            raise UsageError("time table: met must have the shape of the times")
        seconds.flags.writeable = weights.flags.writeable = expected.flags.writeable = False
        object.__setattr__(self, "seconds", seconds)
        if self.weights is not None:
            object.__setattr__(self, "weights", weights)
        if self.expected is not None:
            object.__setattr__(self, "expected", expected)

    @property
    def size_weights(self) -> NDArray[np.float64]:
        """The weights, all 1 if none were given."""
        return np.ones(len(self.sizes)) if self.weights is None else self.weights

    @property
    def expected_seconds(self) -> NDArray[np.float64]:
        """The model's predictions, all nan if there are none."""
        return np.full(np.shape(self.seconds), np.nan) if self.expected is None else self.expected

    @property
    def known(self) -> NDArray[np.float64]:
        """Measured seconds, or else predicted ones; nan for neither."""
        return np.where(np.isnan(self.seconds), self.expected_seconds, self.seconds)

    @property
    def best(self) -> NDArray[np.float64]:
        """The fastest time of every size."""
        return np.asarray(np.nanmin(self.seconds, axis=1))

    @property
    def log_ratios(self) -> NDArray[np.float64]:
        """Log of time / best time of the size; a gap counts as `MISSING_FACTOR`.

        The best time is a measured one: a predicted time counts as no better than that.
        """
        ratios = np.maximum(np.log(self.known / self.best[:, None]), 0.0)
        return np.where(np.isnan(ratios), GAP, ratios)

    def losses(self, chosen: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return log(time / best time) of the kernel that was chosen for each size."""
        return np.asarray(self.log_ratios[np.arange(len(self.sizes)), chosen])

    def take(self, rows: Sequence[int]) -> TimeTable:
        """The same kernels on some of the sizes."""
        index = np.asarray(rows, dtype=np.intp)
        return TimeTable(
            sizes=tuple(self.sizes[row] for row in rows),
            kernels=self.kernels,
            seconds=self.seconds[index],
            weights=None if self.weights is None else self.weights[index],
            expected=None if self.expected is None else self.expected[index],
            met=None if self.met is None else self.met[index],
        )

    def only(self, columns: Sequence[int]) -> TimeTable:
        """Some of the kernels on the same sizes."""
        kernels = tuple(self.kernels[column] for column in columns)
        expected = None if self.expected is None else self.expected[:, [*columns]]
        met = None if self.met is None else self.met[:, [*columns]]
        seconds = self.seconds[:, [*columns]]
        return replace(self, kernels=kernels, seconds=seconds, expected=expected, met=met)

    def called(self, counts: Mapping[Size, int]) -> TimeTable:
        """Weight each size by its part of the time of all calls, with the best kernels.

        If all counts are equal, all sizes have the same weight.

        Args:
            counts: how often each size is called; a size that is not in it is called once.
        """
        calls = np.array([counts.get(size, 1) for size in self.sizes], dtype=np.float64)
        if len(set(calls.tolist())) == 1:
            return self
        parts = calls * self.best
        return replace(self, weights=parts / parts.mean())

    @classmethod
    def from_measurements(
        cls, rows: Iterable[Measurement], *, sparse: bool = False, chosen: bool = False
    ) -> TimeTable:
        """Collect the measurements of one problem type on one device.

        - If leaders were timed side by side in final rounds, only they are kept, and final times
          replace those from the search, as the fastest of many noisy search times is fast by
          chance.
        - Several measurements of one cell become the median of their medians.
        - A kernel that crashed once or computed a wrong result is left out.
        - A size that no kernel computed is left out. So are sizes with fewer kernels than most,
          and then kernels with fewer sizes than most (see `LEAST_MET`), as in runs that were cut
          short: what is unknown would count as slow.

        Args:
            rows: the measurements.
            sparse: also keep sizes and kernels with few times, for the map of exact sizes. Only
                side by side measurements of leaders count then, if there are any.
            chosen: whether a model chose which leaders were timed where. Then cells with few times
                are kept, too, as a gap means that the kernel was expected to be slow there.

        Raises:
            UsageError: when the rows mix problem types, devices or ways of measuring.
            NoCorrectConfigError: when no kernel is left.
        """
        rows = list(rows)
        _refuse_mixed(rows)
        # A name with two sources comes from two versions of mltune, which can write the newer one
        # only.
        newest = {row.kernel: row.source_hash for row in rows}
        rows = [row for row in rows if row.source_hash == newest[row.kernel]]
        unsafe = {row.kernel for row in rows if row.status in UNSAFE}
        finalists = {
            row.kernel for row in rows if row.phase == Phase.FINAL and row.median is not None
        }
        cells: dict[tuple[Size, str], list[Measurement]] = defaultdict(list)
        for row, size in zip(rows, of_problems(rows, Size.of), strict=True):
            if row.kernel not in unsafe and (not finalists or row.kernel in finalists):
                cells[size, row.kernel].append(row)
        times = {
            cell: seconds for cell in cells if (seconds := _reported(cells[cell])) is not None
        }
        if not times:
            raise NoCorrectConfigError(
                f"time table: no kernel was right in {len(rows)} measurements"
            )
        if sparse:
            settled = {size for size, name in times if _is_final(cells[size, name])}
            times = {
                cell: times[cell]
                for cell in times
                if cell[0] not in settled or _is_final(cells[cell])
            }
        if sparse or chosen:
            return _tabulated(times, cells)
        return _tabulated(_widely_met(times, cells), cells)


def _refuse_mixed(rows: Sequence[Measurement]) -> None:
    types = {id(row.problem.contraction): row.problem.contraction for row in rows}.values()
    for what, values in (
        ("problem types", {problem_type_name(each) for each in types}),
        ("devices", {row.device for row in rows}),
        ("measuring protocols", {str(row.protocol) for row in rows}),
    ):
        if len(values) > 1:
            raise UsageError(f"time table: rows of {len(values)} {what}: {sorted(values)}")


def _widely_met(
    times: Mapping[tuple[Size, str], float], met_at_all: Iterable[tuple[Size, str]]
) -> dict[tuple[Size, str], float]:
    """Leave out sizes with fewer kernels than most, then kernels with fewer sizes than most."""
    timed = {name for _, name in times}
    cells = [cell for cell in met_at_all if cell[1] in timed]
    met = Counter(size for size, _ in cells)
    most = max(met.values())
    times = {cell: times[cell] for cell in times if met[cell[0]] >= most * LEAST_MET}
    kept = {size for size, _ in times}
    reach = Counter(name for size, name in cells if size in kept)
    widest = max(reach.values())
    return {cell: times[cell] for cell in times if reach[cell[1]] >= widest * LEAST_MET}


def _tabulated(
    times: Mapping[tuple[Size, str], float], cells: Mapping[tuple[Size, str], list[Measurement]]
) -> TimeTable:
    sizes = sorted({size for size, _ in times})
    kernels = {name: entry_of(cells[size, name][0]) for size, name in times}
    return TimeTable(
        sizes=tuple(sizes),
        kernels=tuple(kernels.values()),
        seconds=np.array(
            [[times.get((size, name), np.nan) for name in kernels] for size in sizes]
        ),
    )


def _is_final(rows: list[Measurement]) -> bool:
    return any(row.phase == Phase.FINAL for row in rows)


def entry_of(row: Measurement) -> PortfolioKernel:
    """Return the measured kernel as an entry of a portfolio."""
    return PortfolioKernel(
        name=row.kernel, family=row.family, config=row.config, source_hash=row.source_hash
    )


def _reported(rows: list[Measurement]) -> float | None:
    """Return a cell's seconds: of final rows if there are any, else of the search's rows."""
    final = [row for row in rows if row.phase == Phase.FINAL]
    medians = [row.median for row in final or rows if row.median is not None]
    return statistics.median(medians) if medians else None
