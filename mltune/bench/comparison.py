"""Times contestants on one size in turns, so that disturbances affect all equally.

Samples that were disturbed too much are kept, but in no ratio.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mltune.bench.contestant import CannotComputeError, Contestant, Product
from mltune.bench.other_work import OtherWork
from mltune.bench.task import Task
from mltune.counted import counted
from mltune.problem import Problem

_SAMPLE_SECONDS = 0.002  # of work in one sample, so that the host's clock resolves it
_MOST_CALLS = 50
_WARM_SECONDS = 0.05
_LEAST_ROUNDS = 3
_NAP_SECONDS = 0.01  # a system updates the time of a running thread each 4 to 10 ms
_MOST_NAPS = 10
_BUSY = 0.25  # share of the processor that other programs take
_SLACK = 1.1  # kernel and call times are sampled one after the other
_LEAST_PART = 0.5  # of the median: no kernel is so much faster, but a difference of times can be


_MOST_REASONS = 3

CLOCKS = ("kernel", "call")
"""The clocks: a product's time in a sequence on the device, and a call's time on the host."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """The times of one contestant on one size.

    Attributes:
        kernel_seconds: samples of one product's time in a sequence on a busy device; empty for a
            library on the host.
        call_seconds: samples of the host's time of one product.
        error: Frobenius norm of the error relative to the result's, against float64.
        kernel: the kernel's name, if the library reports it.
        kernel_lost: number of kernel times that were lost by disturbances of the host.
    """

    kernel_seconds: tuple[float, ...]
    call_seconds: tuple[float, ...]
    error: float
    kernel: str
    kernel_lost: int = 0

    @property
    def kernel_best(self) -> float | None:
        """The least kernel time."""
        return min(self.kernel_seconds, default=None)

    @property
    def call_best(self) -> float:
        """The least call time."""
        return min(self.call_seconds)

    @property
    def kernel_median(self) -> float | None:
        """Median of the kernel times."""
        return statistics.median(self.kernel_seconds) if self.kernel_seconds else None

    @property
    def call_median(self) -> float:
        """Median of the call times."""
        return statistics.median(self.call_seconds)

    def disturbance(self, clock: str) -> str:
        """Return why a clock's samples cannot be trusted; empty if they can."""
        kernel = self.kernel_median
        if kernel is not None and kernel > _SLACK * self.call_median:
            return "kernel times are above call times"
        left = len(self.kernel_seconds)
        if clock == "kernel" and self.kernel_lost > left:
            return f"{left} of {left + self.kernel_lost} kernel samples are left"
        return ""


@dataclass(frozen=True, slots=True)
class SizeResult:
    """One size: the times of each contestant, or the reason why it has none.

    Attributes:
        other_work: the share of the processor that other programs took; None if unknown.
    """

    problem: Problem
    timings: dict[str, Timing]
    refusals: dict[str, str]
    other_work: float | None = None

    def disturbance(self, name: str, clock: str) -> str:
        """Return why a contestant's samples of a clock cannot be trusted; empty if they can."""
        return _told(self.load) if self.load else self.timings[name].disturbance(clock)

    @property
    def disturbances(self) -> tuple[str, ...]:
        """All reasons, each once."""
        if self.load:
            return (_told(self.load),)
        found = (
            (name, timing.disturbance(clock))
            for name, timing in self.timings.items()
            for clock in CLOCKS
        )
        return tuple(dict.fromkeys(f"{name}: {reason}" for name, reason in found if reason))

    @property
    def load(self) -> float:
        """The share that other programs took, if it disturbed the measurement; else 0."""
        share = self.other_work or 0.0
        return share if share > _BUSY else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """The speed of one contestant / the other's, over sizes.

    Attributes:
        clock: `kernel` or `call`.
        by_size: (problem, ratio of the medians) in the order of the sizes.
        of_best: the ratios of the best samples, likewise.
        left_out: sizes whose samples were disturbed.
    """

    name: str
    against: str
    clock: str
    by_size: tuple[tuple[Problem, float], ...]
    of_best: tuple[float, ...]
    left_out: int

    @property
    def geomean(self) -> float:
        """Geometric mean over the sizes."""
        return statistics.geometric_mean(ratio for _, ratio in self.by_size)

    @property
    def geomean_of_best(self) -> float:
        """Geometric mean of the ratios of the best samples."""
        return statistics.geometric_mean(self.of_best)

    @property
    def worst(self) -> float:
        """The smallest ratio."""
        return min(ratio for _, ratio in self.by_size)

    @property
    def best(self) -> float:
        """The largest ratio."""
        return max(ratio for _, ratio in self.by_size)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The results of all sizes."""

    results: tuple[SizeResult, ...]

    @property
    def disturbed(self) -> tuple[SizeResult, ...]:
        """The sizes with samples that cannot be trusted."""
        return tuple(result for result in self.results if result.disturbances)

    @property
    def warning(self) -> str:
        """One line that says what was disturbed, and how; empty if nothing was."""
        found = self.disturbed
        if not found:
            return ""
        load = max(result.load for result in found)
        reasons = [_told(load)] if load else []
        reasons += [one for result in found if not result.load for one in result.disturbances]
        told = list(dict.fromkeys(reasons))
        more = ["..."] if len(told) > _MOST_REASONS else []
        of_all = f"{len(found)} of {counted(len(self.results), 'size')}"
        return (
            f"samples of {of_all} were disturbed, which take no part in ratios "
            f"({'; '.join(told[:_MOST_REASONS] + more)}): measure again when nothing else runs"
        )

    def ratios(self, name: str, against: str) -> tuple[Ratio, ...]:
        """Compare two contestants by each clock that both have, on sizes undisturbed for both."""
        both = [r for r in self.results if name in r.timings and against in r.timings]
        found = (self._ratio(both, name, against, clock) for clock in CLOCKS)
        return tuple(ratio for ratio in found if ratio.by_size)

    def _ratio(self, both: Sequence[SizeResult], name: str, against: str, clock: str) -> Ratio:
        by_size, of_best, left_out = [], [], 0
        for result in both:
            ours, theirs = (_times(result.timings[one], clock) for one in (name, against))
            if any(result.disturbance(one, clock) for one in (name, against)):
                left_out += 1
            elif ours and theirs:
                by_size.append((result.problem, theirs[0] / ours[0]))
                of_best.append(theirs[1] / ours[1])
        return Ratio(
            name=name,
            against=against,
            clock=clock,
            by_size=tuple(by_size),
            of_best=tuple(of_best),
            left_out=left_out,
        )


def _told(load: float) -> str:
    return f"other work took {load:.0%} of the processor"


def _times(timing: Timing, clock: str) -> tuple[float, float] | None:
    """Return the median and the best of a clock's samples."""
    samples = timing.call_seconds if clock == "call" else timing.kernel_seconds
    return (statistics.median(samples), min(samples)) if samples else None


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
        contestants: each begins equally many rounds.
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
        others = OtherWork()
        samples = _in_turns(products, counts, rounds, most_seconds)
        share = others.share()
        timings = {
            name: Timing(
                kernel_seconds=taken.likely,
                call_seconds=tuple(taken.call),
                error=errors[name],
                kernel=products[name].kernel,
                kernel_lost=taken.lost + len(taken.kernel) - len(taken.likely),
            )
            for name, taken in samples.items()
        }
    finally:
        for product in products.values():
            product.close()
    return SizeResult(problem, timings, refusals, share)


@dataclass(slots=True)
class _Samples:
    """The samples of one contestant's clocks, and the number of lost kernel times."""

    kernel: list[float] = field(default_factory=list)
    call: list[float] = field(default_factory=list)
    lost: int = 0

    @property
    def likely(self) -> tuple[float, ...]:
        """The kernel times that are no artefact of a disturbance."""
        if not self.kernel:
            return ()
        least = _LEAST_PART * statistics.median(self.kernel)
        return tuple(seconds for seconds in self.kernel if seconds >= least)


def _in_turns(
    products: Mapping[str, Product], counts: Mapping[str, int], rounds: int, most_seconds: float
) -> dict[str, _Samples]:
    """Time each product once a round; each round begins with another one."""
    samples = {name: _Samples() for name in products}
    names = list(products)
    has_host = not all(product.has_kernel_time for product in products.values())
    end = time.monotonic() + most_seconds
    for turn in range(rounds):
        if turn >= _LEAST_ROUNDS and time.monotonic() > end:
            break
        first = turn % max(len(names), 1)
        for name in names[first:] + names[:first]:
            product, taken = products[name], samples[name]
            if has_host:
                let_threads_sleep()
            seconds = product.kernel_seconds(counts[name])
            if seconds is not None:
                taken.kernel.append(seconds)
            else:
                taken.lost += product.has_kernel_time
            taken.call.append(product.call_seconds(counts[name]))
    return samples


def let_threads_sleep() -> None:
    """Wait until no thread of this process works, as OpenBLAS's spin for 25 ms after a call.

    They would take a core from the next library on the same processor.
    """
    for _ in range(_MOST_NAPS):
        begin = time.process_time()
        time.sleep(_NAP_SECONDS)
        if time.process_time() - begin < _NAP_SECONDS / 10:
            return


def _warm_up(product: Product) -> int:
    """Run until the clocks are steady, and return the number of calls for a sample."""
    total = 0.0
    while True:
        pace = product.call_seconds(1)
        total += pace
        if total >= _WARM_SECONDS:
            break
    count = min(math.ceil(_SAMPLE_SECONDS / max(pace, 1e-9)), _MOST_CALLS)
    product.kernel_seconds(count)
    return count
