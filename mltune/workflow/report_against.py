"""The other run of a report: the best kernels of the sizes that both runs have."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mltune.errors import UsageError
from mltune.measurement import Measurement, Phase
from mltune.problem import Problem, problem_type_name
from mltune.report.content import Against
from mltune.run.run import Run
from mltune.run.run_info import RunInfo
from mltune.tuning.final_selection import choose


def against(info: RunInfo, measurements: Sequence[Measurement], folder: Path) -> Against:
    """Compare a run with another one.

    Args:
        info: of the run.
        measurements: of the run.
        folder: of the other run.

    Raises:
        UsageError: when that cannot be read, or they have no size of a problem type in common.
    """
    with Run.open(folder) as run:
        other, there = run.info, _best(run.store.measurements())
    here = _best(measurements)
    problems = info.measured_on(row.problem for row in measurements).cross_problems
    pairs = tuple((here[one], there[one]) for one in problems if one in here and one in there)
    if not pairs:
        raise UsageError(
            f"report: --against {folder}: no size of {problem_type_name(info.contraction)} was "
            f"right in both runs; it has {len(there)} of {problem_type_name(other.contraction)}"
        )
    return Against(
        name=folder.resolve().name,
        words=f"{other.device.name}, driver {other.device.driver_version}, {other.created[:10]}",
        pairs=pairs,
    )


def _best(rows: Sequence[Measurement]) -> dict[Problem, Measurement]:
    sound = (row for row in rows if row.phase != Phase.DISTURBED)
    return {problem: choice.best for problem, choice in choose(sound).items()}
