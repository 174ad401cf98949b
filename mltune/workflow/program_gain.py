"""The gain of a program: the time of its calls by tuned kernels and by other libraries.

The total adds up each size's median times the number of its calls. The ratio's 95 % interval is a
bootstrap interval over the samples (Efron and Tibshirani, "An Introduction to the Bootstrap",
1993, chapter 13): it covers noise only.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

CLOCKS = ("kernel", "call")
"""Those of `mltune bench --json`, the preferred one first. The module of `bench` loads OpenCL."""

_DRAWS = 400

Samples = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One size by tuned kernels and by a library, on one clock.

    Attributes:
        problem: the problem type's name.
        size: the extents.
        count: calls in a run of the program; 1 if unknown.
        tuned: samples in seconds.
        other: the library's samples.
    """

    problem: str
    size: tuple[int, ...]
    count: int
    tuned: tuple[float, ...]
    other: tuple[float, ...]

    @property
    def tuned_seconds(self) -> float:
        """Seconds of all calls."""
        return self.count * statistics.median(self.tuned)

    @property
    def other_seconds(self) -> float:
        """The library's seconds of all calls."""
        return self.count * statistics.median(self.other)

    @property
    def ratio(self) -> float:
        """The library's seconds / the tuned kernel's."""
        return self.other_seconds / self.tuned_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Against:
    """A program's calls by tuned kernels and by one library.

    Attributes:
        library: its name.
        clock: `kernel`, or `call` if the library has no time on the device.
        sizes: that both computed without a disturbance; at least one.
        low: lower end of the ratio's 95 % interval.
        high: its upper end.
    """

    library: str
    clock: str
    sizes: tuple[Compared, ...]
    low: float
    high: float

    @classmethod
    def of(cls, library: str, clock: str, sizes: Sequence[Compared]) -> Against:
        """Make a comparison with its interval."""
        ratios = _drawn(sizes)
        low, high = (float(value) for value in np.quantile(ratios, (0.025, 0.975)))
        return cls(library=library, clock=clock, sizes=tuple(sizes), low=low, high=high)

    @property
    def tuned_seconds(self) -> float:
        """Seconds of the calls of these sizes."""
        return math.fsum(each.tuned_seconds for each in self.sizes)

    @property
    def other_seconds(self) -> float:
        """The library's seconds of these calls."""
        return math.fsum(each.other_seconds for each in self.sizes)

    @property
    def saved_seconds(self) -> float:
        """The seconds that the program saves; negative if it loses."""
        return self.other_seconds - self.tuned_seconds

    @property
    def ratio(self) -> float:
        """The library's seconds / the tuned kernels'."""
        return self.other_seconds / self.tuned_seconds

    @property
    def geomean(self) -> float:
        """The geometric mean of the sizes' ratios, without counts."""
        return _geomean(self.sizes)

    @property
    def by_problem(self) -> Mapping[str, tuple[Compared, ...]]:
        """Group the sizes by problem type."""
        names = dict.fromkeys(each.problem for each in self.sizes)
        return {name: tuple(each for each in self.sizes if each.problem == name) for name in names}

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping."""
        return {
            "clock": self.clock,
            "sizes": len(self.sizes),
            "tuned_seconds": self.tuned_seconds,
            "other_seconds": self.other_seconds,
            "saved_seconds": self.saved_seconds,
            "ratio": self.ratio,
            "interval": [self.low, self.high],
            "geomean": self.geomean,
            "problems": {
                name: {"sizes": len(sizes), "geomean": _geomean(sizes)}
                for name, sizes in self.by_problem.items()
            },
        }


def _geomean(sizes: Sequence[Compared]) -> float:
    return statistics.geometric_mean(each.ratio for each in sizes)


def _drawn(sizes: Sequence[Compared]) -> Samples:
    """Return ratios of sums of medians of bootstrap samples."""
    generator = np.random.default_rng(0)
    tuned, other = np.zeros(_DRAWS), np.zeros(_DRAWS)
    for each in sizes:
        for sums, samples in ((tuned, each.tuned), (other, each.other)):
            places = generator.integers(0, len(samples), (_DRAWS, len(samples)))
            sums += each.count * np.median(np.array(samples)[places], axis=1)
    return other / tuned


def compared(
    documents: Mapping[str, Mapping[str, Any]],
    counts: Mapping[str, Mapping[tuple[int, ...], int]],
    libraries: Sequence[str],
) -> tuple[Against, ...]:
    """Read the output of `mltune bench --json` for each problem type.

    Args:
        documents: by the problem type's name.
        counts: of calls, by problem type and size; 1 if a size has none.
        libraries: their names, in the order of the result.

    Returns:
        The comparisons with all libraries that have an undisturbed size, each on the first clock
        with one.
    """
    found = []
    for library in libraries:
        for clock in CLOCKS:
            sizes = [
                each
                for name, document in documents.items()
                for each in _sizes(name, document, counts.get(name, {}), library, clock)
            ]
            if sizes:
                found.append(Against.of(library, clock, sizes))
                break
    return tuple(found)


def _sizes(
    problem: str,
    document: Mapping[str, Any],
    counts: Mapping[tuple[int, ...], int],
    library: str,
    clock: str,
) -> list[Compared]:
    found = []
    for entry in document["sizes"]:
        ours, theirs = (
            entry["contestants"].get(name, {}).get(f"{clock}_samples")
            for name in ("mltune", library)
        )
        if ours and theirs and not entry["disturbed"]:
            size = tuple(entry["size"])
            found.append(
                Compared(
                    problem=problem,
                    size=size,
                    count=counts.get(size, 1),
                    tuned=tuple(ours),
                    other=tuple(theirs),
                )
            )
    return found
