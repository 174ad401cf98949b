"""Recordings of any source: other tuners' files, and mltune's own runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from mltune.compat.foreign import read_recording
from mltune.errors import NoCorrectConfigError, UsageError
from mltune.kernel.handwritten.family import NAME as HANDWRITTEN
from mltune.kernel.parameters.declared import defaults_of
from mltune.measurement import Measurement, Phase, Status
from mltune.measurement.recording import Point, Recording
from mltune.problem import problem_type_name
from mltune.run.run import INFO_NAME, Run
from mltune.selector import Selector
from mltune.selector.json import read_selector
from mltune.selector.pack import SELECTOR_NAME
from mltune.space.config import Config
from mltune.space.union import FAMILY, UnionSpace, with_family
from mltune.tuning.recorder import from_records
from mltune.tuning.trial import group_trials, values_over_all_sizes

_AS_FAST = 0.02
_MOST_FASTEST = 32


def read_any(path: Path) -> Recording:
    """Read a file of another tuner, or a run folder or a selector of mltune.

    A selector has kernels to try first, and no times. For a run, a config's time is the geometric
    mean over the run's sizes; see `values_over_all_sizes` for one that was not timed on all of
    them. The configs of a run of several spaces name their families. A run's kernels that are the
    fastest on some size are tried first, too.

    Raises:
        UsageError: when it cannot be read, or is empty.
    """
    is_run = (path / INFO_NAME).exists()
    if path.name == SELECTOR_NAME or (not is_run and (path / SELECTOR_NAME).exists()):
        file = path if path.name == SELECTOR_NAME else path / SELECTOR_NAME
        return of_selector(read_selector(file), str(path))
    if not path.is_dir():
        return read_recording(path)
    with Run.open(path) as run:
        info = run.info
        every, damaged = run.store.salvage()
    readable = [row for row in every if row.phase == Phase.SEARCH]
    if info.family != HANDWRITTEN:
        # Hand-written kernels have parameters of their own.
        readable = [row for row in readable if row.family != HANDWRITTEN]
    points: dict[str, Point] = {}
    trials = group_trials(from_records(info, readable))
    is_known = any(len(trial.measurements) >= len(info.sizes) for trial in trials)
    values = values_over_all_sizes(trials) if is_known else {}
    for trial in trials:
        value = values.get(trial.number)
        failure = trial.failure
        if failure is not None:
            points[trial.config.id] = Point(trial.config, None, failure.status)
        elif value is not None:
            points[trial.config.id] = Point(trial.config, math.exp(value), Status.OK)
    if not points:
        raise UsageError(f"{path}: holds no finished trial (mltune search --resume)")
    return Recording(
        where=str(path),
        problem=problem_type_name(info.contraction),
        device=info.device.name,
        points=tuple(points.values()),
        notes=tuple(damaged),
        family=info.family,
        space=Path(info.space).stem,
        leaders=_fastest(every),
    )


def _fastest(rows: Sequence[Measurement]) -> tuple[Config, ...]:
    """Return few configs that are the fastest, or nearly so, on all sizes of a run."""
    from mltune.distil import TimeTable
    from mltune.distil.portfolio import cover

    try:
        table = TimeTable.from_measurements(rows, sparse=True)
    except (UsageError, NoCorrectConfigError):
        return ()
    columns = cover(table, tolerance=_AS_FAST, max_kernels=_MOST_FASTEST)
    kernels = (table.kernels[column] for column in columns)
    return tuple(
        with_family(each.config, each.family) for each in kernels if each.family != HANDWRITTEN
    )


def of_selector(selector: Selector, where: str) -> Recording:
    """Return a selector's kernels, to be tried first.

    Args:
        selector: whose portfolio it is.
        where: it lies, for messages.
    """
    return Recording(
        where=where,
        problem=problem_type_name(selector.contraction),
        device=selector.device,
        points=(),
        leaders=tuple(with_family(each.config, each.family) for each in selector.portfolio),
    )


def suited(recording: Recording, space: UnionSpace) -> Recording:
    """Return a record whose leaders have the parameters of a union, as far as they are in it.

    A record may be older than a parameter, or its space had other ones than the union's. A
    parameter that a leader or the space lacks has its family's default.
    """
    return replace(recording, leaders=tuple(_suited(one, space) for one in recording.leaders))


def _suited(leader: Config, space: UnionSpace) -> Config:
    family = leader.word(FAMILY)
    defaults = defaults_of(family)
    whole = {**defaults, **leader}
    for member in space.of_family(family):
        names = {parameter.name for parameter in member.parameters}
        rest = {name: value for name, value in whole.items() if name not in names}
        config = Config.of({name: value for name, value in whole.items() if name in names})
        if config in member and rest.items() <= defaults.items():
            return config
    return leader
