"""The options of `mltune search`, and their meaning for a new or a resumed run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mltune import __version__
from mltune.device_info import DeviceInfo
from mltune.errors import UsageError
from mltune.kernel.handwritten import Description
from mltune.kernel.handwritten.family import NAME as HANDWRITTEN
from mltune.kernel.handwritten.read import read_files, to_text
from mltune.kernel.handwritten.space import contraction_of, space_text
from mltune.problem import (
    Contraction,
    Size,
    epilogue_name,
    merge_sizes,
    parse_compute_type,
    parse_problem_type,
    problem_of_size,
    problem_type_name,
    with_epilogue,
)
from mltune.problem.sizes import parse_sizes
from mltune.reading import read_text
from mltune.run.database import read_url
from mltune.run.run_info import ENERGY, TIME, RunInfo, SearchedSpace, Timing, new_run_id
from mltune.runner.capacity import refuse_too_large
from mltune.runner.live import DEFAULT_SAMPLES
from mltune.runner.observe import OBSERVERS
from mltune.runner.timing import WARMUPS
from mltune.search.names import SAMPLERS, check_sampler, is_own
from mltune.space.shipped import AUTO as AUTO_SPACE
from mltune.space.shipped import find_space, split_names
from mltune.tuning.cross_sizes import AUTO, NONE, SHARE, default_cross_sizes

DEFAULT_BUDGET = 500
UNLIMITED_BUDGET = 1_000_000
"""Trials of a search with a time limit alone; an H200 makes four a second."""
DEFAULT_PROBLEM = "sgemm_nn"
DEFAULT_SAMPLER = "guided"
RUNS = Path("runs")
WARM, COLD = "warm", "cold"
NO_PRIORS = (Path("none"),)
"""What `--prior none` gives."""
SHIPPED_PRIORS = Path("shipped")
"""What `--prior` takes for those that ship, beside others."""
ALL_DEVICES = "all"
NO_PATIENCE = "--patience: a search with --storage ends by its budget or --time-limit"


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """The options of `mltune search`; None stands for an option that was not given.

    Attributes:
        sizes: as `--sizes` takes them, or the sizes themselves.
        space: names of shipped spaces and paths of files, separated by commas or in a list.
        run_id: of a new run.
        compare: whether the result is timed beside installed libraries, for some seconds.
    """

    budget: int | None = None
    device: str | None = None
    problem: str | None = None
    epilogue: str | None = None
    compute: str | None = None
    sizes: str | Sequence[Size] | None = None
    cross_sizes: str | None = None
    space: str | Sequence[str] | None = None
    sampler: str | None = None
    sampler_arguments: str | None = None
    seed: int | None = None
    alpha: float | None = None
    beta: float | None = None
    samples: int | None = None
    build_timeout_seconds: float | None = None
    run_timeout_seconds: float | None = None
    folder: Path | None = None
    resume: bool = False
    storage: str | None = None
    cache: str | None = None
    builders: int | None = None
    rest_seconds: float | None = None
    observers: tuple[str, ...] | None = None
    objective: str | None = None
    priors: tuple[Path, ...] = ()
    time_limit_seconds: float | None = None
    patience: int | None = None
    kernels: tuple[Path, ...] = ()
    compare: bool = False
    command: tuple[str, ...] = ()
    run_id: str = field(default_factory=new_run_id)


def check_options(options: SearchOptions) -> None:
    """Refuse wrong options before any device is opened.

    Raises:
        UsageError: with the first mistake.
    """
    if options.sampler is not None:
        check_sampler(options.sampler)
        if is_own(options.sampler):
            from mltune.search.make import own_class

            own_class(options.sampler)
    if options.sampler_arguments is not None:
        check_sampler_arguments(options.sampler, options.sampler_arguments)
    if options.priors not in ((), NO_PRIORS) and options.sampler not in (None, "guided"):
        raise UsageError(
            f"--prior: only the sampler 'guided' learns from records, got '{options.sampler}'"
        )
    for path in options.priors:
        if not path.exists() and options.priors != NO_PRIORS and path != SHIPPED_PRIORS:
            raise UsageError(f"--prior: {path}: there is no such file or folder")
    if (options.problem, options.epilogue, options.compute) != (None, None, None):
        _asked_problem_type(options)
    if options.storage is not None:
        url = read_url(options.storage)
        if url.get_backend_name() == "sqlite" and url.database in (None, "", ":memory:"):
            raise UsageError(
                f"storage: '{options.storage}' would be lost at the end; give sqlite:///FILE"
            )
        if options.patience is not None:
            raise UsageError(NO_PATIENCE)
    elif options.device == ALL_DEVICES:
        raise UsageError(
            f"--device {ALL_DEVICES}: the workers share a database: give --storage, such as sqlite:///all.db"
        )
    if options.sizes is not None:
        asked_sizes(options.sizes)
    if options.cross_sizes not in (None, AUTO, NONE):
        parse_sizes(options.cross_sizes)
    for option, value, known in (
        ("cache", options.cache, (WARM, COLD)),
        ("objective", options.objective, (TIME, ENERGY)),
        *(("observe", name, tuple(OBSERVERS)) for name in options.observers or ()),
    ):
        if value is not None and value not in known:
            raise UsageError(f"{option}: unknown '{value}' (known: {', '.join(known)})")
    if options.objective == ENERGY and not options.observers and not options.resume:
        raise UsageError("objective: energy needs a meter: --observe nvml (NVIDIA) or rapl (CPU)")
    if options.seed is not None and options.seed < 0:
        raise UsageError(f"seed: must be at least 0, got {options.seed}")


def asked_sizes(sizes: str | Sequence[Size]) -> tuple[Size, ...]:
    """Return the sizes that were asked for, as text or as they are.

    Raises:
        UsageError: when a text is wrong, or there are none.
    """
    if isinstance(sizes, str):
        return parse_sizes(sizes)
    if not sizes:
        raise UsageError("sizes: expected at least one")
    return merge_sizes(sizes)


def check_sampler_arguments(sampler: str | None, text: str) -> dict[str, Any]:
    """Read `--sampler-args`.

    Raises:
        UsageError: when it is no JSON object, or the sampler takes none.
    """
    try:
        found = json.loads(text)
    except ValueError as error:
        raise UsageError(f"--sampler-args: is not JSON ({error})") from error
    if not isinstance(found, dict):
        raise UsageError(f'--sampler-args: must be a JSON object such as {{"n": 1}}, got {text}')
    if sampler is None or not is_own(sampler):
        raise UsageError("--sampler-args: needs --sampler module:Class, whose arguments they are")
    return found


def asked_contraction(
    options: SearchOptions, kernels: tuple[Description, ...] = ()
) -> Contraction:
    """Return the problem type that was asked for; for hand-written kernels alone, theirs.

    Raises:
        UsageError: when it is unknown, or the kernels compute several.
    """
    asked = options.problem or options.epilogue or options.compute
    if kernels and options.space is None and not asked:
        return contraction_of(kernels)
    return _asked_problem_type(options)


def _asked_problem_type(options: SearchOptions) -> Contraction:
    problem = options.problem or DEFAULT_PROBLEM
    return parse_problem_type(problem, options.epilogue, options.compute)


def handwritten_space(kernels: tuple[Description, ...]) -> SearchedSpace:
    """Return the space of hand-written kernels alone."""
    return SearchedSpace(HANDWRITTEN, HANDWRITTEN, space_text(kernels))


def new_run_info(
    options: SearchOptions,
    device: DeviceInfo,
    spaces: Sequence[SearchedSpace],
    kernels: tuple[Description, ...] = (),
) -> RunInfo:
    """Fill in the defaults, some of which depend on the device.

    Args:
        options: of the verb.
        device: that will measure.
        spaces: that are searched, at least one.
        kernels: hand-written ones.

    Raises:
        UsageError: when an option is wrong.
    """
    kind = "cpu" if device.kind == "cpu" else "gpu"
    is_written = spaces[0].family == HANDWRITTEN
    contraction = asked_contraction(options, kernels)
    families = dict.fromkeys(each.family for each in spaces)
    info = RunInfo(
        id=options.run_id,
        mltune_version=__version__,
        command=without_password(options.command, options.storage),
        contraction=contraction,
        alpha=_given(options.alpha, 1.0),
        beta=_given(options.beta, 0.0),
        sizes=asked_sizes(options.sizes or ("gemmbench" if is_written else kind)),
        space=spaces[0].name if len(spaces) == 1 else ",".join(asked_spaces(options)),
        space_text=spaces[0].text if len(spaces) == 1 else "",
        spaces=tuple(spaces) if len(spaces) > 1 else (),
        family=", ".join(families),
        device=device,
        seed=_given(options.seed, 0),
        budget=_given(options.budget, DEFAULT_BUDGET),
        sampler=options.sampler or DEFAULT_SAMPLER,
        sampler_arguments=options.sampler_arguments or "",
        timing=timing_of(options),
        observers=options.observers or (),
        objective=options.objective or TIME,
        priors=_paths(options.priors),
        kernels=to_text(kernels) if kernels else "",
        leaders_chosen=not kernels,
    )
    for size in info.sizes:
        problem_of_size(contraction, size.extents, info.alpha, info.beta)
    info = _with_cross_sizes(info, options.cross_sizes or (NONE if is_written else AUTO))
    refuse_too_large(info.cross_problems, device)
    return info


def timing_of(options: SearchOptions) -> Timing:
    """Return how measurements are timed."""
    return Timing(
        warmups=WARMUPS,
        samples=_given(options.samples, DEFAULT_SAMPLES),
        build_timeout_seconds=_given(options.build_timeout_seconds, 60.0),
        run_timeout_seconds=_given(options.run_timeout_seconds, 30.0),
        cache=options.cache or WARM,
    )


def _with_cross_sizes(info: RunInfo, text: str) -> RunInfo:
    """Return a run with the further sizes of `--cross-sizes`."""
    if text == NONE:
        return info
    if text == AUTO:
        found = default_cross_sizes(info.contraction, info.sizes, info.device)
        return replace(info, cross_sizes=found, cross_share=SHARE if found else 0.0)
    sizes = parse_sizes(text)
    for size in sizes:
        problem_of_size(info.contraction, size.extents, info.alpha, info.beta)
    return replace(info, cross_sizes=sizes)


def without_password(command: tuple[str, ...], storage: str | None) -> tuple[str, ...]:
    """Return a command line without passwords."""
    if storage is None:
        return command
    shown = read_url(storage).render_as_string()
    return tuple(word.replace(storage, shown) for word in command)


def check_resumed(options: SearchOptions, info: RunInfo, folder: Path) -> None:
    """Refuse options that contradict the run to resume.

    Raises:
        UsageError: with the first contradiction.
    """
    if info.sampler not in SAMPLERS and not is_own(info.sampler):
        raise UsageError(
            f"{folder}: was begun with 'mltune {info.sampler}', which resumes it (--resume)"
        )
    if options.sampler is None:
        check_sampler_given(folder, info.sampler, None)
    priors = _paths(options.priors) if options.priors else None
    asked: list[tuple[str, Any, Any]] = [
        ("--prior", priors, info.priors),
        ("--sampler", options.sampler, info.sampler),
        ("--sampler-args", options.sampler_arguments, info.sampler_arguments),
        ("--seed", options.seed, info.seed),
        ("--alpha", options.alpha, info.alpha),
        ("--beta", options.beta, info.beta),
        ("--samples", options.samples, info.timing.samples),
        ("--build-timeout", options.build_timeout_seconds, info.timing.build_timeout_seconds),
        ("--run-timeout", options.run_timeout_seconds, info.timing.run_timeout_seconds),
        ("--cache", options.cache, info.timing.cache),
        ("--observe", options.observers, info.observers),
        ("--objective", options.objective, info.objective),
    ]
    if options.problem is not None:
        problem = _asked_problem_type(options)
        asked.append(
            ("--problem", problem_type_name(problem), problem_type_name(info.contraction))
        )
    else:
        if options.epilogue is not None:
            wanted = epilogue_name(with_epilogue(info.contraction, options.epilogue))
            asked.append(("--epilogue", wanted, epilogue_name(info.contraction)))
        if options.compute is not None:
            compute = parse_compute_type(options.compute).value
            asked.append(("--compute", compute, info.contraction.compute.value))
    if options.sizes is not None:
        asked.append(("--sizes", _labels(asked_sizes(options.sizes)), _labels(info.sizes)))
    if options.cross_sizes in (AUTO, NONE):  # further sizes are added to the run's
        known = AUTO if info.cross_share else _labels(info.cross_sizes) or NONE
        asked.append(("--cross-sizes", options.cross_sizes, known))
    if options.space is not None and not _same_spaces(options, info):
        raise UsageError(f"{folder}: was begun with another text of the space {info.space}")
    if options.kernels and to_text(read_files(options.kernels)) != info.kernels:
        raise UsageError(f"{folder}: was begun with other --kernels")
    for option, given, recorded in asked:
        if given is not None and given != recorded:
            raise UsageError(
                f"{folder}: was begun with {option} {recorded}, got {given} "
                "(leave it out to resume, or begin another run)"
            )


def added_sizes(options: SearchOptions, info: RunInfo, folder: Path) -> tuple[Size, ...]:
    """Return the cross sizes to add to a resumed run.

    Raises:
        UsageError: when they cannot be read, or other hosts take part in the run.
    """
    word = options.cross_sizes
    if word is None or word in (AUTO, NONE):
        return ()
    known = {*info.sizes, *info.cross_sizes}
    new = tuple(size for size in parse_sizes(word) if size not in known)
    if new and info.storage:
        raise UsageError(f"{folder}: a shared run takes no further --cross-sizes (mltune distil)")
    return new


def check_sampler_given(where: object, recorded: str, given: str | None) -> None:
    """Refuse to import a class that only a record names, as folders and databases may be foreign.

    Args:
        where: the run or the study.
        recorded: its sampler.
        given: the sampler that the user names; None for none.

    Raises:
        UsageError: when they differ, or the user has to name it.
    """
    if given is None and is_own(recorded):
        raise UsageError(
            f"{where}: was begun with --sampler {recorded}; give that again, as code that a "
            "record names is not run"
        )
    if given is not None and given != recorded:
        raise UsageError(f"{where}: was begun with --sampler {recorded}, got {given}")


def default_folder(info: RunInfo) -> Path:
    """Return a new run's folder: date, problem type and device."""
    date = datetime.now(UTC).strftime("%Y-%m-%d")
    name = problem_type_name(info.contraction).replace("_", "-")
    base = RUNS / f"{date}-{name}-{info.device.slug}"
    return next(path for path in _numbered(base) if not path.exists())


def newest_run() -> Path:
    """Return the newest run in `runs/`.

    Raises:
        UsageError: when there is none.
    """
    found = sorted(RUNS.glob("*/run.json"), key=lambda path: path.stat().st_mtime)
    if not found:
        raise UsageError(f"{RUNS}/: there is no run to resume; name one with --run DIR")
    return found[-1].parent


def _numbered(base: Path) -> Iterator[Path]:
    yield base
    number = 2
    while True:
        yield base.with_name(f"{base.name}-{number}")
        number += 1


def asked_spaces(options: SearchOptions) -> tuple[str, ...]:
    """Return the names and paths of the spaces that were asked for (default: `auto`).

    Raises:
        UsageError: when one is empty.
    """
    return (AUTO_SPACE,) if options.space is None else split_names(options.space)


def _same_spaces(options: SearchOptions, info: RunInfo) -> bool:
    """Whether a run has the spaces that were asked for; the run knows those of `auto`."""
    names = asked_spaces(options)
    texts = [read_text(find_space(name)) for name in names if name != AUTO_SPACE]
    known = [each.text for each in info.searched_spaces]
    if AUTO_SPACE in names:
        return AUTO_SPACE in info.space.split(",") and all(text in known for text in texts)
    return texts == known


def _paths(priors: tuple[Path, ...]) -> tuple[str, ...]:
    files = () if priors == NO_PRIORS else priors
    return tuple(str(path.absolute()) for path in files if path != SHIPPED_PRIORS)


def _labels(sizes: tuple[Size, ...]) -> str:
    return ",".join(size.label for size in sizes)


def trials_asked(options: SearchOptions, info: RunInfo) -> int:
    """Return the number of trials: the budget, or no limit if there is only a time limit."""
    if options.budget is not None:
        return options.budget
    return info.budget if options.time_limit_seconds is None else UNLIMITED_BUDGET


def _given(value: Any, default: Any) -> Any:
    return default if value is None else value
