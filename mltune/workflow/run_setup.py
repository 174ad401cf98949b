"""The parts of a run that begins or is resumed: its runner, space, sampler and study."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mltune.device_info import DeviceInfo
from mltune.errors import UsageError
from mltune.kernel import KernelFamily
from mltune.kernel.handwritten.family import KERNEL
from mltune.kernel.handwritten.family import NAME as HANDWRITTEN
from mltune.kernel.handwritten.read import read_kept
from mltune.kernel.handwritten.space import space_text
from mltune.kernel.space_file import parse_space
from mltune.measurement.recording import Recording
from mltune.problem import problem_type_name
from mltune.problem.precision import Precision
from mltune.run.run_info import ENERGY, RunInfo, Timing
from mltune.runner.live import WorkerRunner
from mltune.runner.opening import Opening
from mltune.space.config import Config
from mltune.space.names import outside_names
from mltune.space.union import FAMILY, UnionSpace
from mltune.tuning.search_options import COLD
from mltune.workflow.chosen_spaces import SearchSpace
from mltune.workflow.recorded_device import recorded_device
from mltune.workflow.recordings import read_any, suited
from mltune.workflow.shipped_priors import SHIPPED, read_shipped

if TYPE_CHECKING:
    import optuna
    from sqlalchemy import URL

    from mltune.search.sampler import ConfigSampler
    from mltune.tuning.study import TuningStudy
    from mltune.tuning.study_writer import StudyWriter

Note = Callable[[str], None]


def open_runner(
    device: str,
    family: KernelFamily,
    precisions: Collection[Precision],
    timing: Timing,
    *,
    seed: int,
    observers: Sequence[str] = (),
    builders: int | None = 0,
    rest_seconds: float = 0,
    opening: Opening | None = None,
    waits: bool = True,
) -> WorkerRunner:
    """Open a device to measure on as a run asks for.

    Args:
        device: as for `--device`.
        family: generates the kernels.
        precisions: of the problems; a device that lacks one is refused at once.
        timing: of each measurement.
        seed: of the numbers that kernels are checked on.
        observers: names of observers.
        builders: number of processes that build ahead.
        rest_seconds: pause before each measurement.
        opening: of the same device with as many builders, if it has begun already.
        waits: as a `WorkerRunner` takes it.

    Raises:
        UsageError: when the device's name fits several, or a number is out of range.
        NoDeviceError: when there is no such device, or it computes wrong.
    """
    return WorkerRunner(
        device,
        family,
        precisions=precisions,
        build_timeout_seconds=timing.build_timeout_seconds,
        run_timeout_seconds=timing.run_timeout_seconds,
        samples=timing.samples,
        seed=seed,
        cold=timing.cache == COLD,
        observers=observers,
        rest_seconds=rest_seconds,
        builders=builders,
        opening=opening,
        waits=waits,
    )


def reopened(
    recorded: DeviceInfo,
    asked: str | None,
    where: object,
    open_device: Callable[[str], WorkerRunner],
) -> WorkerRunner:
    """Open the device that a run was measured on, or another one of its model.

    Args:
        recorded: the run's device.
        asked: the device that the user named instead, if any.
        where: the run.
        open_device: opens a device, as `open_runner` does.

    Raises:
        UsageError: when it is of another model.
        NoDeviceError: when there is no such device.
    """
    with recorded_device(recorded, asked, where) as device:
        runner = open_device(device)
    here = runner.device.model
    if here == recorded.model:
        return runner
    runner.close()
    raise UsageError(
        f"{where}: was measured on {recorded.model}, this is {here}; begin another run"
    )


def sampler_of(info: RunInfo, space: SearchSpace, seed: int, note: Note) -> ConfigSampler:
    """Make a run's sampler.

    Raises:
        UsageError: when there is no such sampler, or a record to learn from cannot be read.
    """
    from mltune.search.make import make_sampler

    priors = read_priors(info, note)
    if isinstance(space, UnionSpace):
        here = (info.device.name, problem_type_name(info.contraction))
        priors = [
            replace(suited(prior, space), is_own=(prior.device, prior.problem) == here)
            for prior in priors
        ]
    return make_sampler(
        info.sampler,
        space,
        seed,
        priors=priors,
        counts=[size.count for size in info.sizes],
        problems=info.problems,
        arguments=json.loads(info.sampler_arguments or "{}"),
    )


def new_study(info: RunInfo, space: SearchSpace, seed: int, note: Note) -> TuningStudy:
    """Make a study in memory that drives a run; raises what `sampler_of` raises."""
    from mltune.search.planned_sizes import PlannedSizesPruner
    from mltune.tuning.study import make_study

    sampler = sampler_of(info, space, seed, note)
    study = make_study(sampler=sampler, pruner=PlannedSizesPruner())
    return tuning_study(study, info, space)


def default_configs(space: SearchSpace) -> tuple[Config, ...]:
    """Return a space's default config, or those of the spaces of a union."""
    members = space.members if isinstance(space, UnionSpace) else (space,)
    return tuple(default for each in members if (default := each.default) is not None)


def tuning_study(study: optuna.Study, info: RunInfo, space: SearchSpace) -> TuningStudy:
    """Wrap the study that drives a run, with the run's hand-written kernels if there are any.

    It begins with the default config of a space; for a union the sampler chooses one of several.
    """
    from mltune.tuning.study import TuningStudy

    def family_of(config: Config) -> str:
        if FAMILY in config:
            return config.word(FAMILY)
        return HANDWRITTEN if KERNEL in config else info.family

    first = () if isinstance(space, UnionSpace) else default_configs(space)
    if not info.kernels or info.family == HANDWRITTEN:
        return TuningStudy(study, len(info.sizes), info.families, family_of, first=first)
    names = outside_names(info.device, info.contraction)
    kernels = read_kept(info.kernels, "kernels")
    file = parse_space(space_text(kernels), HANDWRITTEN)
    written = file.bind(names, in_union=bool(info.spaces))
    return TuningStudy(
        study,
        len(info.sizes),
        (*info.families, HANDWRITTEN),
        family_of,
        given=written,
        others=written.parameters,
        first=first,
    )


def study_attributes(info: RunInfo) -> dict[str, Any]:
    """Return the attributes that describe a run's study to its readers."""
    device = info.device
    unit = "joules of one launch" if info.objective == ENERGY else "seconds of one launch"
    return {
        "run": info.id,
        "problem": problem_type_name(info.contraction),
        "device": device.name,
        "driver": f"{device.platform} {device.driver_version}",
        "sizes": {str(step): size.label for step, size in enumerate(info.sizes)},
        "value": f"geometric mean over the sizes, {unit}; smaller is better",
        "intermediate value": f"at step i: {unit} on size i",
        "value of a pruned trial": "estimated from the sizes that it was timed on",
        "time": f"{device.time_words}, {info.timing.statistic} of samples",
        "space": info.space,
        "sampler": info.sampler,
        "seed": info.seed,
        "mltune": info.mltune_version,
    }


def open_writer(info: RunInfo, url: URL, name: str = "") -> StudyWriter:
    """Open the database in which a run's study is shown.

    Args:
        info: the run's options.
        url: of the database.
        name: of the study (for a shared run: from problem, device and id).

    Raises:
        MltuneError: when the database cannot be written.
    """
    from mltune.tuning.study_writer import StudyWriter

    metric = "joules" if info.objective == ENERGY else "seconds"
    name = name or f"{problem_type_name(info.contraction)} {info.device.slug} {info.id}"
    return StudyWriter(url, name, study_attributes(info), f"{metric} (geometric mean)")


def read_priors(info: RunInfo, note: Note) -> list[Recording]:
    """Read the records that a run's sampler learns from first.

    What is gone, as of a folder that was removed since the run began, is left out with a note.

    Raises:
        UsageError: when one cannot be read.
    """
    priors: list[Recording] = []
    for path in info.priors:
        prior: Recording | None = None
        if path.startswith(SHIPPED):
            prior = read_shipped(path)
        elif Path(path).exists():
            prior = read_any(Path(path))
        if prior is None:
            missing = f"this mltune ships no {path}" if path.startswith(SHIPPED) else f"no {path}"
            note(f"--prior: {missing}: the search continues without it")
        else:
            priors.append(prior)
    for prior in priors:
        for line in prior.notes:
            note(line)
    return priors
