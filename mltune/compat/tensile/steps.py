"""The seven steps: which kernels each one looks at, and which it keeps.

Nothing is measured here: a judge says how slow kernels are. A kernel is carried as its settings,
so that a later step may change any of them, and shown to the judge as a whole config.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product

from mltune.compat.tensile.complete import complete
from mltune.compat.tensile.keys import joined_value
from mltune.compat.tensile.protocol import Choice, Group, Step
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

Judge = Callable[[int, Sequence[Config], Sequence[Size]], Sequence[float | None]]
"""Given the number of a step, kernels and sizes: what is to be small, None for one that failed."""

Accepts = Callable[[Config], bool]
"""Whether a kernel can be written, and respects the limits of the device."""


@dataclass(frozen=True, slots=True)
class StepReport:
    """What a step did.

    Attributes:
        number: 1 to 7.
        compared: kernels that were measured against each other; 0 where nothing was measured.
        refused: combinations that cannot be written or exceed the device.
        kept: kernels after the step.
    """

    number: int
    compared: int
    refused: int
    kept: int

    @property
    def name(self) -> str:
        """The step in words."""
        return STEP_NAMES[self.number - 1]


@dataclass(frozen=True, slots=True)
class Steps:
    """What the steps before the last came to: their reports, and the kernels for the last."""

    reports: tuple[StepReport, ...]
    kernels: tuple[Config, ...]


def run_steps(group: Group, judge: Judge, accepts: Accepts) -> Steps:
    """Go through the first six steps of a group; the seventh measures the kernels on all sizes."""
    walk = _Walk(judge, accepts)
    walk.begin(group.initial)
    walk.benchmark(2, group.common)
    walk.fork(group.fork)
    walk.benchmark(4, group.fork_steps)
    walk.join(group.join, group.join_sizes)
    walk.benchmark(6, group.join_steps)
    return Steps(tuple(walk.reports), tuple(complete(kernel) for kernel in walk.kernels))


class _Walk:
    """The kernels on their way through the steps."""

    def __init__(self, judge: Judge, accepts: Accepts) -> None:
        self._judge = judge
        self._accepts = accepts
        self.kernels: list[Config] = [Config(())]
        self.reports: list[StepReport] = []

    def begin(self, initial: Sequence[Choice]) -> None:
        """Set what is fixed; whether the kernel can be written shows when it is complete."""
        self.kernels = _combinations(self.kernels[0], initial)
        self._report(1, compared=0, refused=0)

    def fork(self, choices: Sequence[Choice]) -> None:
        """Every combination becomes a kernel."""
        forked = [new for old in self.kernels for new in _combinations(old, choices)]
        self.kernels, refused = self._sound(forked)
        self._report(3, compared=0, refused=refused)

    def benchmark(self, number: int, steps: Sequence[Step]) -> None:
        """Determine, step by step, each kernel's fastest combination."""
        compared = refused = 0
        for step in steps:
            families = []
            for old in self.kernels:
                sound, bad = self._sound(_combinations(old, step.choices))
                families.append(sound)
                refused += bad
            if all(len(choice.values) == 1 for choice in step.choices):
                self.kernels = [new for family in families for new in family]
                continue
            configs = _distinct(complete(new) for family in families for new in family)
            compared += len(configs)
            worth = dict(zip(configs, self._judge(number, configs, step.sizes), strict=True))
            best = (_fastest(family, worth) for family in families)
            self.kernels = [new for new in best if new is not None]
        self._report(number, compared=compared, refused=refused)

    def join(self, names: Sequence[str] | None, sizes: Sequence[Size]) -> None:
        """Keep the fastest of the kernels that agree in the joined parameters."""
        if names is None:
            self._report(5, compared=0, refused=0)
            return
        configs = [complete(kernel) for kernel in self.kernels]
        worth = dict(zip(configs, self._judge(5, configs, sizes), strict=True))
        joined: dict[tuple[object, ...], list[Config]] = {}
        for kernel, config in zip(self.kernels, configs, strict=True):
            key = tuple(joined_value(name, config) for name in names)
            joined.setdefault(key, []).append(kernel)
        best = (_fastest(kernels, worth) for kernels in joined.values())
        self.kernels = [kernel for kernel in best if kernel is not None]
        self._report(5, compared=len(configs), refused=0)

    def _sound(self, kernels: Sequence[Config]) -> tuple[list[Config], int]:
        """Those that can be written, each once, and how many cannot."""
        distinct: dict[Config, Config] = {}
        for kernel in kernels:
            distinct.setdefault(complete(kernel), kernel)
        sound = [kernel for config, kernel in distinct.items() if self._accepts(config)]
        return sound, len(distinct) - len(sound)

    def _report(self, number: int, *, compared: int, refused: int) -> None:
        self.reports.append(StepReport(number, compared, refused, len(self.kernels)))


def _combinations(kernel: Config, choices: Sequence[Choice]) -> list[Config]:
    rows = product(*(choice.values for choice in choices))
    return [
        Config.of({name: value for part in (kernel, *row) for name, value in part.items()})
        for row in rows
    ]


def _distinct(configs: Iterable[Config]) -> list[Config]:
    return list(dict.fromkeys(configs))


def _fastest(kernels: Sequence[Config], worth: dict[Config, float | None]) -> Config | None:
    """The kernel with the least worth; the first of equals, None if all failed."""
    known = [
        (value, place)
        for place, kernel in enumerate(kernels)
        if (value := worth[complete(kernel)]) is not None
    ]
    return kernels[min(known)[1]] if known else None
