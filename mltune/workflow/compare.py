"""`mltune compare`: equal kernels and sizes in several runs, for example of two devices."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mltune.errors import UsageError
from mltune.measurement import Phase
from mltune.problem import problem_type_name
from mltune.problem.problem import scalar_to_json
from mltune.report.experiments import Experiment, experiments
from mltune.run.run import Run
from mltune.run.run_info import RunInfo


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """A run with its experiments."""

    folder: Path
    info: RunInfo
    experiments: tuple[Experiment, ...]


@dataclass(frozen=True, slots=True)
class CompareResult:
    """Several runs, and their common experiments.

    Attributes:
        rows: for each kernel on each size that all runs have, its experiment in each run.
    """

    runs: tuple[ComparedRun, ...]
    rows: tuple[tuple[Experiment, ...], ...]

    def ratio(self, row: Sequence[Experiment], run: int) -> float | None:
        """Return speed in a run / speed in the first; None if it failed in either."""
        first, other = row[0].mean, row[run].mean
        return None if first is None or other is None else other / first

    def geomean(self, rows: Sequence[Sequence[Experiment]], run: int) -> float | None:
        """Return the geometric mean of some rows' ratios; None if there is none."""
        ratios = [ratio for row in rows if (ratio := self.ratio(row, run)) is not None]
        return statistics.geometric_mean(ratios) if ratios else None

    def best(self, rows: Sequence[Sequence[Experiment]], run: int) -> float | None:
        """Return the highest mean speed in a run in GFLOP/s; None if all failed there."""
        return max((mean for row in rows if (mean := row[run].mean) is not None), default=None)

    def by_size(self) -> tuple[tuple[tuple[Experiment, ...], ...], ...]:
        """Return the rows of each size, in the first run's order of sizes."""
        rows: dict[tuple[int, ...], list[tuple[Experiment, ...]]] = {}
        for row in self.rows:
            rows.setdefault(row[0].problem.size, []).append(row)
        return tuple(map(tuple, rows.values()))

    def to_json(self) -> dict[str, Any]:
        """Return the document that `--json` prints."""
        return {
            "runs": [
                {
                    "run": str(run.folder),
                    "problem": problem_type_name(run.info.contraction),
                    "device": run.info.device.name,
                    "driver": run.info.device.driver_version,
                    "created": run.info.created,
                    "alpha": scalar_to_json(run.info.alpha),
                    "beta": scalar_to_json(run.info.beta),
                    "cache": run.info.timing.cache,
                    "speed_over_first": self.geomean(self.rows, number),
                }
                for number, run in enumerate(self.runs)
            ],
            "rows": [
                {
                    "kernel": row[0].label,
                    "sizes": list(row[0].problem.size),
                    "mean": [one.mean for one in row],
                    "deviation": [one.deviation for one in row],
                    "status": [one.status.value for one in row],
                }
                for row in self.rows
            ],
        }


def compare(folders: Sequence[Path]) -> CompareResult:
    """Compare the experiments that all runs have; nothing is measured.

    Times of all phases count, except disturbed ones.

    Raises:
        UsageError: when a run cannot be read, or they have no experiment in common.
    """
    if len(folders) < 2:
        raise UsageError("compare: needs two runs or more")
    runs = tuple(_read(folder) for folder in folders)
    by_key = [
        {(one.label, one.problem.contraction, one.problem.size): one for one in run.experiments}
        for run in runs
    ]
    rows = tuple(
        tuple(found[key] for found in by_key)
        for key in by_key[0]
        if all(key in found for found in by_key)
    )
    if not rows:
        raise UsageError(
            f"compare: {', '.join(map(str, folders))} have no kernel on the same size in common"
        )
    return CompareResult(runs, rows)


def _read(folder: Path) -> ComparedRun:
    with Run.open(folder) as run:
        rows = [
            row for row in run.store.measurements() if row.phase != Phase.DISTURBED and row.kernel
        ]
        return ComparedRun(folder, run.info, experiments(rows))
