"""The gain of a search: over the default kernel, of the roofline, over installed libraries."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mltune.device_info import DeviceInfo
from mltune.measurement import Measurement, Phase
from mltune.problem import Problem
from mltune.runner.roofline import roofline_seconds
from mltune.space import Config
from mltune.space.union import without_family
from mltune.tuning.drift import DriftCorrection
from mltune.tuning.final_selection import pooled_rounds
from mltune.tuning.trial import group_trials
from mltune.workflow.comparing import Comparing


@dataclass(frozen=True, slots=True)
class Gain:
    """The gain on the searched sizes.

    Attributes:
        default_seconds: of the default config, by problem, if it was not disturbed.
        over_default: speed / the default config's, by problem.
        of_roofline: the share of the speed that the device allows at best, by problem.
        comparing: with libraries.
        lacking: what is unknown, and why.
    """

    default_seconds: Mapping[Problem, float] = field(default_factory=dict)
    over_default: Mapping[Problem, float] = field(default_factory=dict)
    of_roofline: Mapping[Problem, float] = field(default_factory=dict)
    comparing: Comparing = field(default_factory=Comparing)
    lacking: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        best: Sequence[Measurement],
        default: Mapping[Problem, float],
        device: DeviceInfo,
        comparing: Comparing,
    ) -> Gain:
        """Compare the chosen measurements with everything known."""
        times = {row.problem: median for row in best if (median := row.median) is not None}
        share = shares_of_roofline(best, device)
        lacking = []
        if times and not share:
            lacking.append(f"the peaks of {device.name} are not known: no share of a roofline")
        if comparing.reason:
            lacking.append(f"beside libraries: {comparing.reason}")
        return cls(
            default_seconds=dict(default),
            over_default={p: default[p] / time for p, time in times.items() if p in default},
            of_roofline=share,
            comparing=comparing,
            lacking=tuple(lacking),
        )

    @property
    def words(self) -> str:
        """Return one line of text; empty if nothing is known."""
        figures: list[tuple[str, Mapping[Problem, float]]] = [
            ("times the default kernel", self.over_default),
            ("of the roofline", self.of_roofline),
        ]
        for beside in self.comparing.libraries:
            by_call = " by call time" if beside.clock == "call" else ""
            figures.append((f"times {NAMES[beside.name]}{by_call}", beside.ratios))
        parts = [f"{mean:.2f} {of}" for of, each in figures if (mean := _mean(each)) is not None]
        counts = [len(each) for _, each in figures if each]
        if not counts:
            return ""
        of = f"{min(counts)} to {max(counts)}" if min(counts) < max(counts) else f"{counts[0]}"
        means = f"geometric means of {of} sizes" if max(counts) > 1 else "one size"
        return f"gained: {', '.join(parts)} ({means})"

    def to_json(self) -> dict[str, Any]:
        """Return the part of `--json` about all sizes together."""
        return {
            "over_default": _mean(self.over_default),
            "of_roofline": _mean(self.of_roofline),
            "against": {
                beside.name: {
                    "speed": _mean(beside.ratios),
                    "clock": beside.clock,
                    "sizes": len(beside.ratios),
                }
                for beside in self.comparing.libraries
            },
            "lacking": list(self.lacking),
            "text": self.words,
        }

    def size_to_json(self, problem: Problem) -> dict[str, Any]:
        """Return the part of `--json` about one size."""
        return {
            "default_seconds": self.default_seconds.get(problem),
            "over_default": self.over_default.get(problem),
            "of_roofline": self.of_roofline.get(problem),
            "against": {
                beside.name: beside.ratios[problem]
                for beside in self.comparing.libraries
                if problem in beside.ratios
            },
        }


NAMES = {"clblast": "CLBlast", "cublas": "cuBLAS", "numpy": "numpy's BLAS"}


def shares_of_roofline(best: Sequence[Measurement], device: DeviceInfo) -> dict[Problem, float]:
    """Return the least time by the device's published peaks / the time, if these are known."""
    return {
        row.problem: bound / row.median
        for row in best
        if row.median is not None and (bound := roofline_seconds(row.problem, device)) is not None
    }


def default_seconds(
    rows: Sequence[Measurement], defaults: Sequence[Config]
) -> dict[Problem, float]:
    """Return the default config's seconds by problem, corrected for drift.

    Those of the final rounds count, as for the chosen kernels; else those of the search that were
    not disturbed. Of several defaults the first one tried counts.

    Args:
        rows: of the run.
        defaults: of the spaces that were searched.
    """
    wanted = {without_family(config) for config in defaults}
    trials = group_trials(row for row in rows if row.phase == Phase.SEARCH)
    first = next(
        (t for t in trials if without_family(t.config) in wanted and t.failure is None), None
    )
    if first is None:
        return {}
    drift = DriftCorrection(rows)
    found = {
        row.problem: seconds
        for row in first.measurements
        if drift.is_undisturbed(row) and (seconds := drift.seconds(row)) is not None
    }
    for problem, each in pooled_rounds(row for row in rows if row.config == first.config).items():
        if (median := each[first.config].median) is not None:
            found[problem] = median
    return found


def _mean(values: Mapping[Problem, float]) -> float | None:
    return statistics.geometric_mean(values.values()) if values else None
