"""`mltune bench`: the tuned library beside others, with the same sizes and clocks, in one run."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mltune.bench import PEERS, Comparison, Contestant, compare
from mltune.bench.comparison import Ratio, SizeResult, Timing
from mltune.bench.contestant import NotPresentError
from mltune.bench.figure import draw
from mltune.bench.opencl_queues import Queues
from mltune.bench.tuned import Tuned
from mltune.device import DeviceEntry, choose
from mltune.errors import UsageError
from mltune.files import refuse_unwritable, write_atomically
from mltune.problem import Contraction, Problem, parse_problem_type, problem_of_size
from mltune.problem.gemm import gemm_name, problem_type_name
from mltune.problem.sizes import parse_sizes
from mltune.runner.capacity import refuse_precisions, refuse_too_large
from mltune.runtime import TunedGemm, load
from mltune.runtime.ahead import BUILD_SECONDS, built_ahead
from mltune.runtime.gemm_kernel import GemmKernel
from mltune.tuning.progress import Show, Steps
from mltune.tuning.search_options import DEFAULT_PROBLEM
from mltune.unknown import unknown

_MOST_SECONDS = 10.0
_MOST_DEFAULT_SIZES = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchOptions:
    """The options of `mltune bench`; None stands for an option that was not given."""

    selector: Path | None
    against: tuple[str, ...]
    sizes: str | None
    problem: str | None
    device: str | None
    rounds: int
    seed: int
    figure: Path | None
    time_limit_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchResult:
    """The comparison, with its conditions.

    Attributes:
        sizes_left_out: sizes that the time limit left out.
    """

    problem_type: str
    device: str
    date: str
    rounds: int
    contestants: tuple[tuple[str, str], ...]
    absent: tuple[tuple[str, str], ...]
    comparison: Comparison
    figure: Path | None
    sizes_left_out: int = 0

    @property
    def ratios(self) -> tuple[Ratio, ...]:
        """Return the ratios of the first contestant to each other one."""
        (first, _), *others = self.contestants
        return tuple(ratio for name, _ in others for ratio in self.comparison.ratios(first, name))

    def to_json(self) -> dict[str, Any]:
        """Return the document that `--json` prints."""
        return {
            "problem": self.problem_type,
            "device": self.device,
            "date": self.date,
            "rounds": self.rounds,
            "contestants": dict(self.contestants),
            "absent": dict(self.absent),
            "sizes": [_size_json(result) for result in self.comparison.results],
            "sizes_left_out": self.sizes_left_out,
            "ratios": [
                {
                    "name": ratio.name,
                    "against": ratio.against,
                    "clock": ratio.clock,
                    "sizes": len(ratio.by_size),
                    "left_out": ratio.left_out,
                    "geomean": ratio.geomean,
                    "geomean_of_best": ratio.geomean_of_best,
                    "worst": ratio.worst,
                    "best": ratio.best,
                }
                for ratio in self.ratios
            ],
            "warning": self.comparison.warning,
            "figure": str(self.figure) if self.figure else None,
        }


def bench(
    options: BenchOptions, show: Show, note: Callable[[str], None] = lambda line: None
) -> BenchResult:
    """Compare a selector's kernels with other libraries, or only the libraries.

    Args:
        options: of the verb.
        show: called with the progress.
        note: called with a line if the selector is another device's.

    Raises:
        UsageError: when an option is wrong, or there is nothing to compare.
        NoDeviceError: when there is no such device.
    """
    limit = options.time_limit_seconds
    end = math.inf if limit is None else time.monotonic() + limit
    _check(options)
    gemm = None
    if options.selector is not None:  # a pack's check times large sizes: too long for a limit
        gemm = load(options.selector, first_check=limit is None)
    contraction = _contraction(options, gemm)
    entry = choose(options.device or "auto")
    refuse_precisions((contraction.precision,), entry.info)
    if gemm is not None and (line := _elsewhere(gemm, entry)):
        note(line)
    problems = [problem_of_size(contraction, size) for size in _sizes(options, gemm, entry)]
    refuse_too_large(problems, entry.info)
    queues = Queues.open(entry)
    build = _Build.of(gemm, problems, limit)
    with _open(options.against, gemm, entry, queues, build) as (contestants, absent):
        if not contestants:
            reasons = "; ".join(f"{name}: {why}" for name, why in absent)
            raise UsageError(f"bench: nothing to compare ({reasons or 'name a selector'})")
        results: list[SizeResult] = []
        step = Steps("bench", show, end)
        most = _MOST_SECONDS if limit is None else min(_MOST_SECONDS, limit / len(problems))
        for done, problem in enumerate(problems, start=1):
            if results and time.monotonic() >= end:
                break
            results.append(
                compare(
                    contestants,
                    problem,
                    rounds=options.rounds,
                    seed=options.seed,
                    most_seconds=most,
                )
            )
            step(done, len(problems))
        result = BenchResult(
            problem_type=problem_type_name(contraction),
            device=queues.info.name_and_driver,
            date=datetime.now(UTC).strftime("%Y-%m-%d"),
            rounds=options.rounds,
            contestants=tuple((one.name, _describe(one, contraction)) for one in contestants),
            absent=tuple(absent),
            comparison=Comparison(tuple(results)),
            figure=options.figure,
            sizes_left_out=len(problems) - len(results),
        )
    if options.figure:
        write_atomically(options.figure, _figure(result).encode())
    return result


def _elsewhere(gemm: TunedGemm, entry: DeviceEntry) -> str:
    """Return a line if the selector was tuned for another device; a pack's check says it, too."""
    if gemm.speeds or gemm.selector.is_for(entry.info.name):
        return ""
    return f"{gemm.name} was tuned for {gemm.selector.device}; it runs on {entry.info.name} here"


@dataclass(frozen=True, slots=True)
class _Build:
    """What is built before the first size, and the most time that it may take."""

    kernels: tuple[GemmKernel, ...]
    seconds: float

    @classmethod
    def of(
        cls, gemm: TunedGemm | None, problems: Sequence[Problem], limit: float | None
    ) -> _Build:
        """Take the kernels of the sizes, and of those in a pack's check; for half of a limit."""
        if gemm is None:
            return cls((), 0.0)
        sizes = [*(each.size for each in problems), *(each.size for each in gemm.speeds)]
        chosen = dict.fromkeys(gemm.select(*size).index for size in sizes)
        kernels = tuple(gemm.launched[number] for number in chosen)
        return cls(kernels, BUILD_SECONDS if limit is None else limit / 2)


def _check(options: BenchOptions) -> None:
    for name in options.against:
        if name not in PEERS:
            raise UsageError(f"against: {unknown('library', name, PEERS)}")
    if options.figure is not None:
        if options.figure.suffix != ".svg":
            raise UsageError(f"figure: must be an .svg file, got '{options.figure}'")
        refuse_unwritable(options.figure, f"figure: {options.figure}")


def _figure(result: BenchResult) -> str:
    """Draw the comparison, as SVG."""
    names = [name for name, _ in result.contestants]
    title = f"{result.problem_type} on {result.device}, {result.date}"
    if disturbed := len(result.comparison.disturbed):
        sizes = len(result.comparison.results)
        title += f" ({disturbed} of {sizes} sizes disturbed)"
    return draw(result.comparison, names, title)


def _contraction(options: BenchOptions, gemm: TunedGemm | None) -> Contraction:
    asked = parse_problem_type(options.problem) if options.problem else None
    if gemm is None:
        contraction = asked or parse_problem_type(DEFAULT_PROBLEM)
    else:
        contraction = gemm.selector.contraction
        if asked not in (None, contraction):
            raise UsageError(
                f"problem: the selector is for {problem_type_name(contraction)}, "
                f"got {options.problem}"
            )
    if gemm_name(contraction) is None:
        raise UsageError(f"problem: bench compares BLAS's GEMMs, got {contraction.name}")
    return contraction


def _describe(contestant: Contestant, contraction: Contraction) -> str:
    after = contraction.epilogue and contestant.name != Tuned.name
    return contestant.describe(contraction) + (", then bias and activation apart" if after else "")


def _sizes(
    options: BenchOptions, gemm: TunedGemm | None, entry: DeviceEntry
) -> list[tuple[int, ...]]:
    if options.sizes is None and gemm is not None and gemm.selector.exact:
        batched = bool(gemm.selector.contraction.batch_indices)
        tuned = [size[: 4 if batched else 3] for size, _ in gemm.selector.exact]
        return tuned[:: math.ceil(len(tuned) / _MOST_DEFAULT_SIZES)]
    default = "cpu" if entry.info.kind == "cpu" else "gpu"
    asked = default if options.sizes is None else options.sizes
    return [size.extents for size in parse_sizes(asked)]


@contextmanager
def _open(
    against: Sequence[str],
    gemm: TunedGemm | None,
    entry: DeviceEntry,
    queues: Queues,
    build: _Build,
) -> Iterator[tuple[list[Contestant], list[tuple[str, str]]]]:
    """Open the contestants that are installed; name the others."""
    with ExitStack() as stack:
        contestants: list[Contestant] = []
        absent: list[tuple[str, str]] = []
        if gemm is not None:
            contestants.append(Tuned(gemm, queues))
            stack.callback(contestants[0].close)
        # A processor compiles at a kernel's first launch, whoever has built it.
        kernels = build.kernels if entry.info.kind != "cpu" else ()
        with built_ahead(kernels, queues.calls.device, build.seconds):
            for name in dict.fromkeys(against):
                try:
                    contestants.append(PEERS[name](entry.info, queues))
                except NotPresentError as error:
                    absent.append((name, str(error)))
                else:
                    stack.callback(contestants[-1].close)
        yield contestants, absent


def _size_json(result: SizeResult) -> dict[str, Any]:
    return {
        "size": list(result.problem.size),
        "contestants": {
            name: _timing_json(timing, result.problem) for name, timing in result.timings.items()
        },
        "refused": result.refusals,
        "other_work": result.other_work,
        "disturbed": list(result.disturbances),
    }


def _timing_json(timing: Timing, problem: Problem) -> dict[str, Any]:
    kernel = timing.kernel_median
    return {
        "kernel_seconds": kernel,
        "kernel_gflops": problem.flops / kernel / 1e9 if kernel else None,
        "kernel_best_seconds": timing.kernel_best,
        "kernel_samples_lost": timing.kernel_lost,
        "kernel_samples": list(timing.kernel_seconds),
        "call_seconds": timing.call_median,
        "call_gflops": problem.flops / timing.call_median / 1e9,
        "call_best_seconds": timing.call_best,
        "call_samples": list(timing.call_seconds),
        "relative_error": timing.error if math.isfinite(timing.error) else None,
        "kernel": timing.kernel,
    }
