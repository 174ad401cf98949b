"""The measurements of a protocol, counted in advance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mltune.compat.tensile.protocol import Group
from mltune.compat.tensile.steps import FINAL_STEP, Accepts, StepReport, run_steps
from mltune.problem import Size
from mltune.space.config import Config


@dataclass(frozen=True, slots=True)
class Plan:
    """The steps of one group, under the assumption that all kernels are equally fast.

    A join by a parameter that an earlier step determines may keep fewer kernels, or others.

    Attributes:
        measured: every kernel with the sizes that it is measured on before the last step.
        kernels: those of the last step.
    """

    reports: tuple[StepReport, ...]
    measured: tuple[tuple[Config, Size], ...]
    kernels: tuple[Config, ...]
    final_sizes: tuple[Size, ...]

    @property
    def configs(self) -> tuple[Config, ...]:
        """All kernels that are built."""
        return tuple(dict.fromkeys((*(config for config, _ in self.measured), *self.kernels)))


def plan(group: Group, accepts: Accepts) -> Plan:
    """Go through the steps under the assumption that all kernels are equally fast."""
    measured: dict[tuple[Config, Size], None] = {}

    def judge(_: int, configs: Sequence[Config], sizes: Sequence[Size]) -> list[float]:
        measured.update(dict.fromkeys((config, size) for config in configs for size in sizes))
        return [0.0] * len(configs)

    steps = run_steps(group, judge, accepts)
    last = StepReport(FINAL_STEP, len(steps.kernels), 0, len(steps.kernels))
    return Plan((*steps.reports, last), tuple(measured), steps.kernels, group.final_sizes)
