"""Advice for a selector that loses much: more kernels, more sizes or more trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from mltune.distil import RegretRow
from mltune.distil.table import MISSING_FACTOR
from mltune.problem import problem_of_size
from mltune.problem.sizes import parse_sizes
from mltune.run.run_info import RunInfo
from mltune.search.names import is_sampler
from mltune.selector import Regret
from mltune.tuning.resumed_run import resuming

LEAST_GEOMEAN = 0.9
LEAST_WORST = 0.5

_MEASURED = 0.9
"""Of a suite's sizes; with more of them measured, the suite has nothing more to add."""


def advice(
    rule: RegretRow | None,
    portfolio: RegretRow | None,
    runs: Mapping[Path, RunInfo],
    *,
    more_kernels: int,
) -> tuple[str, ...]:
    """Return advice if a rule is weak; nothing if it is good.

    Args:
        rule: the score on held-out sizes of the rule that ships.
        portfolio: the score of a perfect choice among the rule's kernels there.
        runs: that it was distilled from, by their folders.
        more_kernels: a value for `--max-kernels` with which more ship; 0 if there are no others.
    """
    if rule is None:
        return ("unknown: with a single size nothing can be held out", *_more(runs))
    regret = rule.regret
    if not is_weak(regret):
        return ()
    lines = [
        f"weak: {regret.geomean:.3f} of the best known speed in the geometric mean, "
        f"{regret.worst:.3f} at {regret.worst_size} "
        f"(good: at least {LEAST_GEOMEAN} and {LEAST_WORST})"
    ]
    if gaps := sum(rule.gaps):
        lines.append(
            f"on {gaps} of {regret.sizes} sizes the kernel that it chose has no time: it counts "
            f"as {MISSING_FACTOR:.0f} times slower (finish the runs: mltune search --resume)"
        )
    if portfolio is not None and is_weak(portfolio.regret) and more_kernels:
        lines.append(f"let more kernels ship: --max-kernels {more_kernels}")
    return (*lines, *_more(runs))


def is_weak(regret: Regret) -> bool:
    """Whether a user should do something before using a selector."""
    return regret.geomean < LEAST_GEOMEAN or regret.worst < LEAST_WORST


def _more(runs: Mapping[Path, RunInfo]) -> list[str]:
    folder, info = max(runs.items(), key=lambda run: run[1].created)
    if not is_sampler(info.sampler):
        return [f"time more sizes: ProblemSizes in a file for mltune {info.sampler}"]
    lines = []
    suite = "spread-cpu" if info.device.kind == "cpu" else "spread"
    more = timing_more(folder, info, suite)
    if more and info.contraction.is_gemm and not _has_sizes_of(suite, tuple(runs.values())):
        lines.append(f"time the leaders on more sizes: {more}")
    again = resuming(folder, info, "--budget", str(2 * info.budget))
    return [*lines, f"find more kernels: {again}"]


def timing_more(folder: Path, info: RunInfo, sizes: str) -> str:
    """Return the command that times a run's leaders on more sizes; empty if the run takes none."""
    if info.storage or not is_sampler(info.sampler):
        return ""
    return resuming(folder, info, "--cross-sizes", sizes)


def _has_sizes_of(suite: str, infos: Sequence[RunInfo]) -> bool:
    asked = {problem for info in infos for problem in info.cross_problems}
    first = infos[0]
    sizes = [
        problem_of_size(first.contraction, size.extents, first.alpha, first.beta)
        for size in parse_sizes(suite)
    ]
    return sum(size in asked for size in sizes) >= _MEASURED * len(sizes)
