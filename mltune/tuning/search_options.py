"""The options of `mltune search`, and what they ask for."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from mltune.errors import UsageError
from mltune.kernel.handwritten import Description
from mltune.kernel.handwritten.space import contraction_of
from mltune.problem import (
    Contraction,
    Size,
    merge_sizes,
    parse_problem_type,
)
from mltune.problem.sizes import parse_sizes
from mltune.run.database import read_url
from mltune.run.run_info import ENERGY, TIME, RunInfo, new_run_id
from mltune.runner.observe import OBSERVERS
from mltune.search.names import MOST_SECONDS, MOST_SEED, check_sampler, is_own
from mltune.selector.pack import pack_folder
from mltune.space.shipped import AUTO as AUTO_SPACE
from mltune.space.shipped import split_names
from mltune.tuning.cross_sizes import AUTO, NONE
from mltune.unknown import unknown

Options = TypeVar("Options")

GivenSizes = str | Sequence[Size | str | tuple[int, ...]]
"""What `--sizes` takes, or a list of sizes."""

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
KINDS: dict[object, tuple[Any, str]] = {
    int | None: (Integral, "a whole number"),
    float | None: (Real, "a number"),
    str: (str, "text"),
    str | None: (str, "text"),
    bool: (bool, "True or False"),
    tuple[str, ...]: (tuple | list, "a list of words"),
    tuple[str, ...] | None: (tuple | list, "a list of words"),
    str | Sequence[str] | None: (str | Path | Sequence, "text or a list of it"),
}
"""What is right for an option of a type, and how that is said."""
CHECKED_APART = {"sizes", "folder", "kernels", "priors"}
"""The options of other types."""
TIME_LIMITS = {"seconds", "time_limit_seconds", "build_timeout_seconds", "run_timeout_seconds"}
RANGES: dict[str, tuple[float, float]] = {
    "budget": (1, math.inf),
    "patience": (1, math.inf),
    "rest_seconds": (0, MOST_SECONDS),
    "seed": (0, MOST_SEED),
    **dict.fromkeys(TIME_LIMITS, (0, MOST_SECONDS)),
}
_OF_COMMANDS = {"command", "run_id"}
"""The options that no caller has a use for."""
NO_PATIENCE = "--patience: a search with --storage ends by its budget or --time-limit"


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """The options of `mltune search`; None stands for an option that was not given.

    Attributes:
        sizes: as `--sizes` takes them, or the sizes themselves, each as text or as numbers.
        folder: of the run, also as text.
        space: names of shipped spaces and paths of files, separated by commas or in a list.
        priors: records to learn from first; names of packs become their folders.
        run_id: of a new run.
        compare: whether the result is timed beside installed libraries, for some seconds.
    """

    budget: int | None = None
    device: str | None = None
    problem: str | None = None
    epilogue: str | None = None
    compute: str | None = None
    sizes: GivenSizes | None = None
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

    def __post_init__(self) -> None:
        if not isinstance(self.folder, str | PathLike | None):
            raise UsageError(f"folder: must be a path, got {self.folder!r}")
        folder = None if self.folder is None else Path(self.folder)
        object.__setattr__(self, "folder", folder)
        object.__setattr__(self, "kernels", _paths("kernels", self.kernels))
        priors = tuple(map(pack_folder, _paths("priors", self.priors)))
        object.__setattr__(self, "priors", priors)
        if isinstance(self.sizes, Iterator):  # it is read more than once
            object.__setattr__(self, "sizes", tuple(self.sizes))
        plain_numbers(self)


def options_of(kind: type[Options], where: str, given: Mapping[str, Any]) -> Options:
    """Make options from keyword arguments that a caller gave.

    Args:
        kind: a dataclass of options.
        where: the function that was called.
        given: the options by name.

    Raises:
        UsageError: when there is no such option, or one is wrong.
    """
    names = {each.name for each in fields(kind)}  # type: ignore[arg-type]
    for name in given:
        if name not in names:
            raise UsageError(f"{where}: {unknown('option', name, names - _OF_COMMANDS)}")
    return kind(**given)


def plain_numbers(options: Any) -> None:
    """Turn numpy's numbers among frozen options into Python's, which `run.json` can hold."""
    for each in fields(options):
        given = getattr(options, each.name)
        if isinstance(given, Real) and not isinstance(given, bool):
            plain = int(given) if isinstance(given, Integral) else float(given)
            object.__setattr__(options, each.name, plain)


def check_kinds(options: Any, apart: Collection[str]) -> None:
    """Refuse options of a wrong type, and numbers out of range.

    Args:
        options: a data class.
        apart: names of those that are checked elsewhere.

    Raises:
        UsageError: with the first mistake.
    """
    for name, hint in get_type_hints(type(options)).items():
        given = getattr(options, name)
        if given is None or name in apart:
            continue
        kind, words = KINDS[hint]
        is_right = isinstance(given, kind) and isinstance(given, bool) == (kind is bool)
        if is_right and kind == tuple | list:
            is_right = all(isinstance(word, str) for word in given)
        if not is_right:
            raise UsageError(f"{name}: must be {words}, got {given!r}")
        low, high = RANGES.get(name, (-math.inf, math.inf))
        if isinstance(given, float) and not math.isfinite(given):
            raise UsageError(f"{name}: must be a finite number, got {given}")
        if name in TIME_LIMITS and given <= 0:
            raise UsageError(f"{name}: must be above 0, got {given}")
        if name in RANGES and not low <= given <= high:
            limit = f"at least {low}" if given < low else f"at most {high}"
            raise UsageError(f"{name}: must be {limit}, got {given}")


def check_options(options: SearchOptions) -> None:
    """Refuse wrong options before any device is opened.

    Raises:
        UsageError: with the first mistake.
    """
    check_kinds(options, CHECKED_APART)
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
        asked_problem_type(options)
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
            raise UsageError(f"{option}: {unknown('word', value, known)}")
    if options.objective == ENERGY and not options.observers and not options.resume:
        raise UsageError("objective: energy needs a meter: --observe nvml (NVIDIA) or rapl (CPU)")


def _paths(name: str, given: str | Path | Iterable[str | Path]) -> tuple[Path, ...]:
    try:
        return tuple(map(Path, [given] if isinstance(given, str | Path) else given))
    except TypeError:
        raise UsageError(f"{name}: must be a path, got {given!r}") from None


def asked_sizes(sizes: GivenSizes) -> tuple[Size, ...]:
    """Return the sizes that were asked for, as text or as they are.

    Raises:
        UsageError: when one is wrong, or there are none.
    """
    if isinstance(sizes, str):
        return parse_sizes(sizes)
    try:
        found = [size for each in sizes for size in _sizes(each)]
    except TypeError:
        raise UsageError(
            f"sizes: expected text such as '64x64x64', or a list of (64, 64, 64), got {sizes!r}"
        ) from None
    if not found:
        raise UsageError("sizes: expected at least one")
    return merge_sizes(found)


def _sizes(given: Size | str | tuple[int, ...]) -> tuple[Size, ...]:
    if isinstance(given, Size):
        return (given,)
    return parse_sizes(given if isinstance(given, str) else "x".join(map(str, given)))


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


def asked_contraction(options: SearchOptions, kernels: tuple[Description, ...]) -> Contraction:
    """Return the problem type that was asked for; for hand-written kernels alone, theirs.

    Raises:
        UsageError: when it is unknown, or the kernels compute several.
    """
    asked = options.problem or options.epilogue or options.compute
    if kernels and options.space is None and not asked:
        return contraction_of(kernels)
    return asked_problem_type(options)


def asked_problem_type(options: SearchOptions) -> Contraction:
    """Return the problem type that was asked for; raises what `asked_contraction` raises."""
    problem = DEFAULT_PROBLEM if options.problem is None else options.problem
    return parse_problem_type(problem, options.epilogue, options.compute)


def without_password(command: tuple[str, ...], storage: str | None) -> tuple[str, ...]:
    """Return a command line without passwords."""
    if storage is None:
        return command
    shown = read_url(storage).render_as_string()
    return tuple(word.replace(storage, shown) for word in command)


def asked_spaces(options: SearchOptions) -> tuple[str, ...]:
    """Return the names and paths of the spaces that were asked for (default: `auto`).

    Raises:
        UsageError: when one is empty.
    """
    return (AUTO_SPACE,) if options.space is None else split_names(options.space)


def asked_priors(priors: tuple[Path, ...]) -> tuple[str, ...]:
    """Return the files of `--prior` as a run records them."""
    files = () if priors == NO_PRIORS else priors
    return tuple(str(path.absolute()) for path in files if path != SHIPPED_PRIORS)


def trials_asked(options: SearchOptions, info: RunInfo) -> int:
    """Return the number of trials: the budget, or no limit if there is only a time limit."""
    if options.budget is not None:
        return options.budget
    return info.budget if options.time_limit_seconds is None else UNLIMITED_BUDGET
