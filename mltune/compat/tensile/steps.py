"""The seven steps: the kernels that each one compares, and those that it keeps.

Nothing is measured here: a judge returns the times of kernels. A kernel is stored as its settings,
so that a later step may change any of them, and given to the judge as a whole config.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, product

from mltune.compat.tensile.complete import complete
from mltune.compat.tensile.keys import joined_value
from mltune.compat.tensile.protocol import Choice, Group, Step
from mltune.errors import UsageError
from mltune.problem import Size
from mltune.space.config import Config

STEP_NAMES = (
    "initial parameters",
    "benchmark common",
    "fork",
    "benchmark fork",
    "join",
    "benchmark join",
    "benchmark final",
)
FINAL_STEP = len(STEP_NAMES)
_MOST_COMBINATIONS = 1_000_000

Judge = Callable[[int, Sequence[Config], Sequence[Size]], Sequence[float | None]]
"""Given the number of a step, kernels and sizes, returns the values to minimise; None for a
failure.
"""

Accepts = Callable[[Config], bool]
"""Whether a kernel can be generated, and respects the limits of the device."""


@dataclass(frozen=True, slots=True)
class StepReport:
    """The result of a step.

    Attributes:
        number: 1 to 7.
        compared: kernels that were measured; 0 if nothing was.
        refused: combinations that cannot be generated or exceed the device's limits.
        kept: kernels after the step.
    """

    number: int
    compared: int
    refused: int
    kept: int

    @property
    def name(self) -> str:
        """The step's name."""
        return STEP_NAMES[self.number - 1]


@dataclass(frozen=True, slots=True)
class Steps:
    """The result of the steps before the last: their reports, and the kernels for the last."""

    reports: tuple[StepReport, ...]
    kernels: tuple[Config, ...]


def run_steps(group: Group, judge: Judge, accepts: Accepts) -> Steps:
    """Run the first six steps of a group; the seventh measures the kernels on all sizes.

    Raises:
        UsageError: when a step has too many combinations of its values with the kernels.
    """
    walk = _Walk(judge, accepts)
    walk.begin(group.initial)
    walk.benchmark(2, group.common)
    walk.fork(group.fork)
    walk.benchmark(4, group.fork_steps)
    walk.join(group.join, group.join_sizes)
    walk.benchmark(6, group.join_steps)
    return Steps(tuple(walk.reports), tuple(complete(kernel) for kernel in walk.kernels))


class _Walk:
    """The kernels between the steps."""

    def __init__(self, judge: Judge, accepts: Accepts) -> None:
        self._judge = judge
        self._accepts = accepts
        self.kernels: list[Config] = [Config(())]
        self.reports: list[StepReport] = []

    def begin(self, initial: Sequence[Choice]) -> None:
        """Apply the initial settings; they are only checked in complete kernels."""
        self.kernels = _combinations(self.kernels[0], initial)
        self._report(1, compared=0, refused=0)

    def fork(self, choices: Sequence[Choice]) -> None:
        """Make a kernel of every combination."""
        forked = [new for old in self.kernels for new in _combinations(old, choices)]
        self.kernels, refused = self._sound(forked)
        self._report(3, compared=0, refused=refused)

    def benchmark(self, number: int, steps: Sequence[Step]) -> None:
        """Find each kernel's fastest combination, one entry after the other."""
        compared = refused = 0
        for step in steps:
            count = len(self.kernels) * math.prod(len(choice.values) for choice in step.choices)
            if count > _MOST_COMBINATIONS:
                raise UsageError(
                    f"{step.where}: {count:,} combinations with {len(self.kernels):,} kernels, "
                    f"at most {_MOST_COMBINATIONS:,} are allowed"
                )
            families = []
            for old in self.kernels:
                sound, bad = self._sound(_combinations(old, step.choices))
                families.append(sound)
                refused += bad
            if all(len(choice.values) == 1 for choice in step.choices):
                self.kernels = list(_distinct(chain(*families)).values())
                continue
            new_ones = (complete(new) for family in families for new in family)
            configs = list(dict.fromkeys(new_ones))
            compared += len(configs)
            values = dict(zip(configs, self._judge(number, configs, step.sizes), strict=True))
            best = (_fastest(family, values) for family in families)
            self.kernels = list(_distinct(new for new in best if new is not None).values())
        self._report(number, compared=compared, refused=refused)

    def join(self, names: Sequence[str] | None, sizes: Sequence[Size]) -> None:
        """Keep the fastest of the kernels with equal values of the joined parameters."""
        if names is None:
            self._report(5, compared=0, refused=0)
            return
        configs = [complete(kernel) for kernel in self.kernels]
        values = dict(zip(configs, self._judge(5, configs, sizes), strict=True))
        joined: dict[tuple[object, ...], list[Config]] = {}
        for kernel, config in zip(self.kernels, configs, strict=True):
            key = tuple(joined_value(name, config) for name in names)
            joined.setdefault(key, []).append(kernel)
        best = (_fastest(kernels, values) for kernels in joined.values())
        self.kernels = [kernel for kernel in best if kernel is not None]
        self._report(5, compared=len(configs), refused=0)

    def _sound(self, kernels: Sequence[Config]) -> tuple[list[Config], int]:
        """Return those that can be generated, each once, and the number of the others."""
        distinct = _distinct(kernels)
        sound = [kernel for config, kernel in distinct.items() if self._accepts(config)]
        return sound, len(distinct) - len(sound)

    def _report(self, number: int, *, compared: int, refused: int) -> None:
        self.reports.append(StepReport(number, compared, refused, len(self.kernels)))


def _distinct(kernels: Iterable[Config]) -> dict[Config, Config]:
    """Return whole configs, each with the first kernel that it completes."""
    found: dict[Config, Config] = {}
    for kernel in kernels:
        found.setdefault(complete(kernel), kernel)
    return found


def _combinations(kernel: Config, choices: Sequence[Choice]) -> list[Config]:
    rows = product(*(choice.values for choice in choices))
    return [
        Config.of({name: value for part in (kernel, *row) for name, value in part.items()})
        for row in rows
    ]


def _fastest(kernels: Sequence[Config], values: dict[Config, float | None]) -> Config | None:
    """Return the kernel with the least value; the first of equals, None if all failed."""
    known = [
        (value, place)
        for place, kernel in enumerate(kernels)
        if (value := values[complete(kernel)]) is not None
    ]
    return kernels[min(known)[1]] if known else None
