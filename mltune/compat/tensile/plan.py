"""The measurements of a protocol, counted in advance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from mltune.compat.tensile.protocol import Group
from mltune.compat.tensile.steps import FINAL_STEP, Accepts, StepReport, run_steps
from mltune.problem import Size
from mltune.space.config import Config

Batch = tuple[Sequence[Config], Sequence[Size]]
"""Kernels, each of which is measured on each of the sizes."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The steps of one group, under the assumption that all kernels are equally fast.

    A join by a parameter that an earlier step determines may keep fewer kernels, or others.

    Attributes:
        measured: kernels with the sizes that they are measured on before the last step.
        kernels: those of the last step.
    """

    reports: tuple[StepReport, ...]
    measured: tuple[Batch, ...]
    kernels: tuple[Config, ...]
    final_sizes: tuple[Size, ...]

    @property
    def configs(self) -> tuple[Config, ...]:
        """All kernels that are built."""
        measured = (config for configs, _ in self.measured for config in configs)
        return tuple(dict.fromkeys((*measured, *self.kernels)))


def plan(group: Group, accepts: Accepts) -> Plan:
    """Go through the steps under the assumption that all kernels are equally fast."""
    measured: list[Batch] = []

    def judge(_: int, configs: Sequence[Config], sizes: Sequence[Size]) -> list[float]:
        measured.append((configs, sizes))
        return [0.0] * len(configs)

    steps = run_steps(group, judge, accepts)
    last = StepReport(FINAL_STEP, len(steps.kernels), 0, len(steps.kernels))
    return Plan((*steps.reports, last), tuple(measured), steps.kernels, group.final_sizes)


def count_measurements(batches: Iterable[Batch]) -> int:
    """Count the kernels with their sizes, of which batches may have some in common."""
    kinds: list[Sequence[Size]] = []
    numbers: dict[Config, tuple[int, ...]] = {}
    for number, (configs, sizes) in enumerate(batches):
        kinds.append(sizes)
        for config in configs:
            numbers[config] = (*numbers.get(config, ()), number)
    return sum(
        configs * len(set(chain.from_iterable(kinds[number] for number in each)))
        for each, configs in Counter(numbers.values()).items()
    )
