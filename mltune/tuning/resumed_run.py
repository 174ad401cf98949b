"""What may be asked of a run that is resumed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mltune.errors import UsageError
from mltune.kernel.handwritten.read import read_files, to_text
from mltune.problem import (
    Size,
    epilogue_name,
    parse_compute_type,
    problem_type_name,
    with_epilogue,
)
from mltune.problem.sizes import parse_sizes
from mltune.reading import read_text
from mltune.run.run_info import RunInfo
from mltune.search.names import is_own, is_sampler
from mltune.shell import command
from mltune.space.shipped import AUTO as AUTO_SPACE
from mltune.space.shipped import find_space
from mltune.tuning.cross_sizes import AUTO, NONE
from mltune.tuning.search_options import (
    RUNS,
    SHIPPED_PRIORS,
    SearchOptions,
    asked_priors,
    asked_problem_type,
    asked_sizes,
    asked_spaces,
)


def check_resumed(options: SearchOptions, info: RunInfo, folder: Path) -> None:
    """Refuse options that contradict the run to resume.

    Raises:
        UsageError: with the first contradiction.
    """
    if not is_sampler(info.sampler):
        raise UsageError(
            f"{folder}: was begun with 'mltune {info.sampler}', which resumes it (--resume)"
        )
    if options.sampler is None:
        check_sampler_given(folder, info.sampler, None)
    priors = asked_priors(options.priors) if options.priors else None
    recorded_priors = info.priors
    if SHIPPED_PRIORS in options.priors:  # the run knows which those were
        recorded_priors = tuple(each for each in info.priors if Path(each).is_absolute())
    asked: list[tuple[str, Any, Any]] = [
        ("--prior", priors, recorded_priors),
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
        problem = asked_problem_type(options)
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
                f"{folder}: was begun with {option} {_said(recorded)}, got {_said(given)} "
                "(leave it out to resume, or begin another run)"
            )


def resuming(folder: Path, info: RunInfo, *more: str) -> str:
    """Return the command that resumes a search, with further options."""
    own = ("--sampler", info.sampler) if is_own(info.sampler) else ()
    return command("mltune", "search", "--resume", "--run", folder, *own, *more)


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


def newest_run() -> Path:
    """Return the newest run in `runs/`.

    Raises:
        UsageError: when there is none.
    """
    found = sorted(RUNS.glob("*/run.json"), key=lambda path: path.stat().st_mtime)
    if not found:
        raise UsageError(f"{RUNS}/: there is no run to resume; name one with --run DIR")
    return found[-1].parent


def _same_spaces(options: SearchOptions, info: RunInfo) -> bool:
    """Whether a run has the spaces that were asked for; the run knows those of `auto`."""
    names = asked_spaces(options)
    texts = [read_text(find_space(name)) for name in names if name != AUTO_SPACE]
    known = [each.text for each in info.searched_spaces]
    if AUTO_SPACE in names:
        return AUTO_SPACE in info.space.split(",") and all(text in known for text in texts)
    return texts == known


def _said(value: Any) -> str:
    return (",".join(value) if isinstance(value, tuple) else str(value)) or "none"


def _labels(sizes: tuple[Size, ...]) -> str:
    return ",".join(size.label for size in sizes)
