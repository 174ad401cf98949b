"""Time contestants on one size in turns, so that what disturbs the machine disturbs all alike."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass

from mltune.bench.contestant import CannotComputeError, Contestant, Product
from mltune.bench.task import Task
from mltune.problem import Problem

_SAMPLE_SECONDS = 0.002  # of work in one sample, so that the host's clock resolves it
_MOST_CALLS = 50
_WARM_SECONDS = 0.05
_LEAST_ROUNDS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """What one contestant took for one size.

    Attributes:
        kernel_seconds: samples of the device's time of one product; empty without a device clock.
        call_seconds: samples of the host's time of one product.
        error: Frobenius norm of the error relative to the result's, against float64.
        kernel: what it ran, where it tells.
    """

    kernel_seconds: tuple[float, ...]
    call_seconds: tuple[float, ...]
    error: float
    kernel: str

    @property
    def kernel_median(self) -> float | None:
        """Median of the kernel times."""
        return statistics.median(self.kernel_seconds) if self.kernel_seconds else None

    @property
    def call_median(self) -> float:
        """Median of the call times."""
        return statistics.median(self.call_seconds)


@dataclass(frozen=True, slots=True)
class SizeResult:
    """One size: what each contestant took, or why it did not take part."""

    problem: Problem
    timings: dict[str, Timing]
    refusals: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """How fast one contestant is against another: its speed / the other's, over sizes.

    Attributes:
        clock: `kernel` (device) or `call` (host).
        by_size: (problem, ratio) in the order of the sizes.
    """

    name: str
    against: str
    clock: str
    by_size: tuple[tuple[Problem, float], ...]

    @property
    def geomean(self) -> float:
        """Geometric mean over the sizes."""
        return math.exp(statistics.fmean(math.log(ratio) for _, ratio in self.by_size))

    @property
    def worst(self) -> float:
        """The smallest."""
        return min(ratio for _, ratio in self.by_size)

    @property
    def best(self) -> float:
        """The largest."""
        return max(ratio for _, ratio in self.by_size)


@dataclass(frozen=True, slots=True)
class Comparison:
    """All sizes."""

    results: tuple[SizeResult, ...]

    def ratios(self, name: str, against: str) -> tuple[Ratio, ...]:
        """Compare two by each clock that both have, on the sizes that both computed."""
        both = [r for r in self.results if name in r.timings and against in r.timings]
        kernel = [
            (r.problem, theirs / ours)
            for r in both
            if (ours := r.timings[name].kernel_median) is not None
            and (theirs := r.timings[against].kernel_median) is not None
        ]
        call = [
            (r.problem, r.timings[against].call_median / r.timings[name].call_median) for r in both
        ]
        return tuple(
            Ratio(name=name, against=against, clock=clock, by_size=tuple(by_size))
            for clock, by_size in (("kernel", kernel), ("call", call))
            if by_size
        )


def compare(
    contestants: Sequence[Contestant],
    problem: Problem,
    *,
    rounds: int,
    seed: int,
    most_seconds: float,
) -> SizeResult:
    """Let all contestants compute one problem, in turns.

    Args:
        contestants: who takes part; each begins as many rounds as the others.
        problem: packed, with alpha = 1 and beta = 0.
        rounds: samples of each, and of each clock.
        seed: of the numbers.
        most_seconds: no round begins after this time, except the first three.
    """
    task = Task.draw(problem, seed)
    products: dict[str, Product] = {}
    refusals: dict[str, str] = {}
    errors: dict[str, float] = {}
    try:
        for contestant in contestants:
            try:
                products[contestant.name] = product = contestant.prepare(task)
                errors[contestant.name] = task.relative_error(product.compute())
            except CannotComputeError as error:
                refusals[contestant.name] = str(error)
                if broken := products.pop(contestant.name, None):
                    broken.close()
        counts = {name: _warm_up(product) for name, product in products.items()}
        kernel: dict[str, list[float]] = {name: [] for name in products}
        call: dict[str, list[float]] = {name: [] for name in products}
        end = time.monotonic() + most_seconds
        names = list(products)
        for turn in range(rounds):
            if turn >= _LEAST_ROUNDS and time.monotonic() > end:
                break
            first = turn % max(len(names), 1)
            for name in names[first:] + names[:first]:
                seconds = products[name].kernel_seconds(counts[name])
                if seconds is not None:
                    kernel[name].append(seconds)
                call[name].append(products[name].call_seconds(counts[name]))
        timings = {
            name: Timing(
                kernel_seconds=tuple(kernel[name]),
                call_seconds=tuple(call[name]),
                error=errors[name],
                kernel=products[name].kernel,
            )
            for name in names
        }
    finally:
        for product in products.values():
            product.close()
    return SizeResult(problem, timings, refusals)


def _warm_up(product: Product) -> int:
    """Run until the clocks are up, and return how many calls make a sample."""
    total = 0.0
    while True:
        pace = product.call_seconds(1)
        total += pace
        if total >= _WARM_SECONDS:
            break
    count = min(max(math.ceil(_SAMPLE_SECONDS / max(pace, 1e-9)), 1), _MOST_CALLS)
    product.kernel_seconds(count)
    return count
