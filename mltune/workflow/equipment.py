"""What a run needs in order to begin or go on: its runner, space, searcher, and the copy of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import URL

from mltune.device_info import DeviceInfo
from mltune.errors import UnsupportedError, UsageError
from mltune.kernel import KernelFamily
from mltune.kernel.handwritten.family import NAME as HANDWRITTEN
from mltune.kernel.handwritten.read import read_kept
from mltune.kernel.handwritten.space import space_text
from mltune.problem import Contraction
from mltune.record import Status
from mltune.record.recording import Recording
from mltune.record.run_info import RunInfo
from mltune.record.store import Store
from mltune.runner.live import WorkerRunner
from mltune.search.alternating import AlternatingLibrary
from mltune.search.library import LibrarySearcher
from mltune.space.load import parse_space
from mltune.space.names import outside_names
from mltune.space.space import Space
from mltune.workflow.families import family_named
from mltune.workflow.options import COLD
from mltune.workflow.progress import Phase, Show
from mltune.workflow.recorded_search import new_library
from mltune.workflow.recordings import read_any
from mltune.workflow.trials import Trial, group_trials, values_over_all_sizes

Note = Callable[[str], None]

_PROBES = 64  # configs; a space whose family refuses that many is not for that family


def open_runner(
    info: RunInfo, device: str, where: str, *, builders: int | None, rest_seconds: float = 0
) -> WorkerRunner:
    """Open a device to measure on as a run asks for.

    Raises:
        UsageError: when the device's name fits several, or the family is not known.
        NoDeviceError: when there is no such device, or it computes wrong.
    """
    return WorkerRunner(
        device,
        family_named(info.family, where, info.kernels),
        build_timeout_seconds=info.timing.build_timeout_seconds,
        run_timeout_seconds=info.timing.run_timeout_seconds,
        samples=info.timing.samples,
        seed=info.seed,
        cold=info.timing.cache == COLD,
        observers=info.observers,
        rest_seconds=rest_seconds,
        builders=builders,
    )


def of_model(runner: WorkerRunner, recorded: DeviceInfo, where: object) -> WorkerRunner:
    """Return a runner whose device is of the model that a run was measured on; else close it.

    Raises:
        UsageError: when it is of another one; `where` says which run.
    """
    here = runner.device.model
    if here == recorded.model:
        return runner
    runner.close()
    raise UsageError(
        f"{where}: was measured on {recorded.model}, this is {here}; begin another run"
    )


def bound_space(info: RunInfo) -> Space:
    """The space of a run on its device."""
    names = outside_names(info.device, info.contraction.precision)
    return parse_space(info.space_text, info.space).bind(names)


def check_family(family: KernelFamily, contraction: Contraction, space: Space) -> None:
    """Refuse a problem type or a space that the family cannot write, before anything is made.

    A space may hold some configs that its family refuses; these fail one by one.

    Raises:
        UnsupportedError: when the family cannot write the problem type.
        UsageError: when it refuses all configs that were looked at.
    """
    refusal = None
    for config in space.sample(np.random.default_rng(0), _PROBES):
        try:
            family.generate(contraction, config)
        except UnsupportedError:
            raise
        except UsageError as error:
            refusal = refusal or error
        else:
            return
    if refusal is not None:
        raise refusal


def library_of(info: RunInfo, space: Space, seed: int, note: Note) -> LibrarySearcher:
    """Make the searcher that a run asks for, which looks at every size by itself if it can.

    Raises:
        UsageError: when a record to learn from cannot be read.
    """
    counts = [size.count for size in info.sizes]
    priors = _priors(info, note)
    library = new_library(info.sampler, space, seed, priors, counts, info.problems)
    if not info.kernels or info.family == HANDWRITTEN:
        return library
    names = outside_names(info.device, info.contraction.precision)
    kernels = read_kept(info.kernels, "kernels")
    return AlternatingLibrary(parse_space(space_text(kernels), HANDWRITTEN).bind(names), library)


def _priors(info: RunInfo, note: Note) -> list[Recording]:
    priors = [read_any(Path(path)) for path in info.priors]
    for prior in priors:
        for line in prior.notes:
            note(line)
    return priors


def mirror(store: Store, space: Space, url: URL, name: str, show: Show) -> None:
    """Copy a run's trials into its database as an Optuna study, for `optuna-dashboard`.

    Args:
        store: of the run.
        space: that was searched.
        url: of the database, with its password.
        name: of the study.
        show: is told about the progress: a trial takes some 10 ms.

    Raises:
        MltuneError: when the database cannot be written.
    """
    from mltune.search import study

    trials = group_trials(store.measurements("search"))
    # Hand-written kernels beside generated ones have other parameters than the space.
    rows = _study_trials([trial for trial in trials if trial.config in space])
    study.mirror(rows, space.parameters, url, name, Phase("copying to Optuna", show))


def _study_trials(trials: Sequence[Trial]) -> Iterator[Any]:
    from mltune.search.study import Trial as StudyTrial

    values = values_over_all_sizes(trials)
    for trial in trials:
        failure = trial.failure
        if failure is None and trial.number not in values:
            continue  # cut off, and nothing to compare it with
        yield StudyTrial(
            number=trial.number,
            config=trial.config,
            value=values.get(trial.number),
            status=failure.status if failure else Status.OK,
            message=failure.message if failure else "",
        )
