"""One problem type of a protocol on one device: its space, plans and steps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mltune.compat.tensile import FINAL_STEP, Group, Problems, StepReport, run_steps
from mltune.compat.tensile.plan import Plan, count_measurements, plan
from mltune.compat.tensile.protocol_bench import ProtocolBench
from mltune.compat.tensile.protocol_result import GroupResult, PlannedRun
from mltune.compat.tensile.space_text import space_text
from mltune.device_info import DeviceInfo
from mltune.errors import NoCorrectConfigError, UsageError
from mltune.kernel.families import FAMILIES
from mltune.problem import Contraction, Problem, Size, problem_of_size, problem_type_name
from mltune.space.config import Config
from mltune.space.load import parse_space
from mltune.space.names import outside_names
from mltune.space.space import Space

FAMILY = FAMILIES["tiled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtocolJob:
    """One problem type on one device.

    Attributes:
        name: of the protocol's file.
        text: of the space.
        plans: of the groups.
    """

    problems: Problems
    name: str
    text: str
    space: Space
    plans: tuple[Plan, ...]

    @classmethod
    def of(cls, problems: Problems, name: str, device: DeviceInfo) -> ProtocolJob:
        """Bind a problem type to a device.

        Raises:
            UsageError: when no kernel respects the device's limits.
        """
        contraction = problems.contraction
        text = space_text(Path(name).stem, problems.groups)
        names = outside_names(device, contraction)
        space = parse_space(text, name).bind(names)
        plans = tuple(
            plan(group, lambda config: _fits(config, space, contraction))
            for group in problems.groups
        )
        return cls(problems=problems, name=name, text=text, space=space, plans=plans)

    @property
    def problem_type(self) -> str:
        """The problem type's name."""
        return problem_type_name(self.problems.contraction)

    @property
    def kernels(self) -> int:
        """The number of kernels that are built, if all are equally fast."""
        return len(dict.fromkeys(config for one in self.plans for config in one.configs))

    @property
    def measurements(self) -> int:
        """The number of measurements, likewise; groups share those that they have in common."""
        searched = count_measurements(batch for one in self.plans for batch in one.measured)
        return searched + count_measurements((one.kernels, one.final_sizes) for one in self.plans)

    def problem_of(self, size: Size) -> Problem:
        """Return the packed problem of a size."""
        return problem_of_size(self.problems.contraction, size.extents)

    def carry_out(self, bench: ProtocolBench, folder: Path) -> Iterator[GroupResult]:
        """Run all seven steps of each group.

        Raises:
            NoCorrectConfigError: when a group has no kernel left.
        """
        for group in self.problems.groups:
            steps = run_steps(group, bench.judge, self._accepts)
            kernels = bench.finish(steps.kernels, group.final_sizes)
            if not kernels:
                refused = sum(report.refused for report in steps.reports)
                raise NoCorrectConfigError(
                    f"{folder}: no kernel is left ({refused} refused, {bench.failed} failed"
                    f"{bench.first_failure})"
                )
            last = StepReport(FINAL_STEP, len(steps.kernels), 0, len(kernels))
            yield self._group((*steps.reports, last), kernels, group)

    def planned(self) -> PlannedRun:
        """Return the plan of the measurements.

        Raises:
            NoCorrectConfigError: when there is no kernel.
        """
        if not self.kernels:
            raise NoCorrectConfigError(f"{self.name}: no kernel of {self.problem_type} is left")
        groups = zip(self.plans, self.problems.groups, strict=True)
        return PlannedRun(
            problem=self.problem_type,
            groups=tuple(self._group(one.reports, one.kernels, group) for one, group in groups),
            kernels=self.kernels,
            measurements=self.measurements,
        )

    def _accepts(self, config: Config) -> bool:
        return _fits(config, self.space, self.problems.contraction)

    def _group(
        self, steps: tuple[StepReport, ...], kernels: tuple[Config, ...], group: Group
    ) -> GroupResult:
        contraction = self.problems.contraction
        return GroupResult(
            steps=steps,
            kernels=tuple(FAMILY.generate(contraction, one).name for one in kernels),
            sizes=len(group.final_sizes),
        )


def _fits(config: Config, space: Space, contraction: Contraction) -> bool:
    """Whether a kernel respects the device's limits and can be generated."""
    if config not in space:
        return False
    try:
        FAMILY.generate(contraction, config)
    except UsageError:
        return False
    return True
