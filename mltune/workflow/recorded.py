"""Recorded runs read together, for `train` and `distil`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mltune.device_info import DeviceInfo
from mltune.distil.table import Size
from mltune.errors import UsageError
from mltune.kernel.families import FAMILIES
from mltune.kernel.handwritten.family import NAME as HANDWRITTEN
from mltune.kernel.parameters.declared import with_defaults
from mltune.measurement import Measurement, Phase, of_problems
from mltune.problem import Contraction, problem_type_name
from mltune.run.run import Run
from mltune.run.run_info import RunInfo
from mltune.space.config import Config
from mltune.tuning.progress import Show, Steps, ignore_progress


@dataclass(frozen=True, slots=True)
class TimedByRun:
    """What a run timed: its leaders if it has any, else all kernels.

    Attributes:
        sizes: of these measurements.
        kernels: their families and configs, with the defaults of parameters.
    """

    sizes: frozenset[Size]
    kernels: frozenset[tuple[str, Config]]

    @classmethod
    def of(cls, rows: Iterable[Measurement]) -> TimedByRun:
        """Collect the measurements of one run."""
        rows = tuple(rows)
        finals = [row for row in rows if row.phase == Phase.FINAL]
        told = finals or rows
        kernels = {row.kernel: (row.family, row.config) for row in told}
        return cls(
            frozenset(of_problems(told, Size.of)),
            frozenset((family, with_defaults(family, each)) for family, each in kernels.values()),
        )


@dataclass(frozen=True, slots=True)
class Recorded:
    """Runs of one problem type on one device, with all their measurements.

    Attributes:
        timed: by each of several runs.
    """

    infos: tuple[RunInfo, ...]
    measurements: tuple[Measurement, ...]
    timed: tuple[TimedByRun, ...] = ()

    @property
    def device(self) -> DeviceInfo:
        """The device that all runs were measured on."""
        return self.infos[0].device

    @property
    def contraction(self) -> Contraction:
        """The problem type of all runs."""
        return self.infos[0].contraction

    @property
    def model_folder(self) -> Path:
        """The default folder for results of these runs."""
        return Path("models") / self.device.slug / problem_type_name(self.contraction)

    @property
    def conditions(self) -> tuple[tuple[str, str], ...]:
        """The conditions of the measurements, as text."""
        timing = self.infos[0].timing
        dates = sorted(info.created[:10] for info in self.infos)
        sizes = {m.problem for m in self.measurements}
        return (
            ("device", self.device.name),
            ("driver", f"{self.device.platform} {self.device.driver_version}"),
            ("date", dates[0] if dates[0] == dates[-1] else f"{dates[0]} to {dates[-1]}"),
            ("problem", problem_type_name(self.contraction)),
            ("sizes", str(len(sizes))),
            (
                "time",
                f"{self.device.time_words}, {timing.statistic} of {timing.samples} samples",
            ),
            ("mltune", self.infos[0].mltune_version),
        )


def calls(infos: Iterable[RunInfo]) -> dict[Size, int]:
    """How often each size is called, as a time table takes it.

    Of several runs the largest count, as two runs may have the same list.
    """
    counts: dict[Size, int] = {}
    for info in infos:
        for problem, count in info.counts.items():
            size = Size.of(problem)
            counts[size] = max(count, counts.get(size, 0))
    return counts


def read_runs(folders: Sequence[Path], show: Show = ignore_progress) -> Recorded:
    """Read runs that belong together, and show the progress.

    Raises:
        UsageError: when one cannot be read or is empty, or they are of different problem types or
            devices.
    """
    infos: list[RunInfo] = []
    measurements: list[Measurement] = []
    by_run: dict[str, list[Measurement]] = defaultdict(list)
    step = Steps("read", show)
    for done, folder in enumerate(folders):
        step(done, len(folders))
        with Run.open(folder) as run:
            # Disturbed measurements are kept, but nothing learns from them.
            rows = [m for m in run.store.measurements() if m.phase != Phase.DISTURBED]
            if not rows:
                raise UsageError(f"{folder}: holds no measurements (mltune search --resume)")
            found = [m for m in rows if m.family != HANDWRITTEN]
            if not found:
                raise UsageError(
                    f"{folder}: holds hand-written kernels only, which no selector can ship "
                    "(mltune report shows them)"
                )
            info = run.info.measured_on(m.problem for m in rows)
            trials = len({m.trial for m in found if m.phase == Phase.SEARCH})
            infos.append(replace(info, budget=max(info.budget, trials)))  # it may have grown
            measurements += found
            by_run[run.info.id] += found
    first, *others = infos
    for folder, info in zip(folders[1:], others, strict=True):
        for what, value, expected in (
            (
                "problem",
                problem_type_name(info.contraction),
                problem_type_name(first.contraction),
            ),
            ("device", info.device.model, first.device.model),
        ):
            if value != expected:
                raise UsageError(
                    f"{folder}: its {what} is {value}, that of {folders[0]} is {expected}; "
                    "they cannot be used together"
                )
    if len({info.id for info in infos}) < len(infos):  # a copy, or two folders of a shared run
        measurements = list(dict.fromkeys(measurements))
    timed = tuple(map(TimedByRun.of, by_run.values()))
    return Recorded(tuple(infos), with_one_name(measurements), timed)


def with_one_name(rows: Iterable[Measurement]) -> tuple[Measurement, ...]:
    """Give one name to kernels that differ only in whether they state a parameter's default.

    It is the name that states the most parameters. If this version of mltune writes the source of
    some of them only, the times of the others are left out.
    """
    rows = tuple(rows)
    alike: dict[tuple[str, Config], list[Measurement]] = defaultdict(list)
    for row in {_source(row): row for row in rows}.values():
        alike[row.family, with_defaults(row.family, row.config)].append(row)
    twins: dict[tuple[str, str], Measurement | None] = {}
    for kernels in alike.values():
        if len({row.kernel for row in kernels}) == 1:
            continue
        today = [row for row in kernels if _is_written_today(row)]
        if today:
            fullest = max(today, key=lambda row: len(row.config))
            twins |= {_source(row): fullest if row in today else None for row in kernels}
    named = (_named(row, twins.get(_source(row), row)) for row in rows)
    return tuple(row for row in named if row is not None)


def _source(row: Measurement) -> tuple[str, str]:
    return row.kernel, row.source_hash


def _named(row: Measurement, twin: Measurement | None) -> Measurement | None:
    if twin is None or twin is row:
        return twin
    return replace(row, kernel=twin.kernel, config=twin.config, source_hash=twin.source_hash)


def _is_written_today(row: Measurement) -> bool:
    try:
        kernel = FAMILIES[row.family].generate(row.problem.contraction, row.config)
    except (KeyError, UsageError):
        return False
    return (kernel.name, kernel.source_hash) == (row.kernel, row.source_hash)
