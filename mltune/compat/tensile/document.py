"""A protocol's file: YAML as Tensile writes it; errors name the line."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from mltune.compat.tensile.complete import complete, level
from mltune.compat.tensile.keys import joined_value, read_value
from mltune.compat.tensile.problem_type import read_problem_type
from mltune.compat.tensile.protocol import Choice, Group, Problems, Protocol, Step
from mltune.compat.tensile.sizes import read_sizes
from mltune.errors import UsageError
from mltune.problem import Contraction, Size, problem_type_name
from mltune.space.yaml_document import Item, parse_document
from mltune.unknown import unknown

_TOP = ("GlobalParameters", "BenchmarkProblems", "LibraryLogic", "LibraryClient")
_GROUP = (
    "InitialSolutionParameters",
    "BenchmarkCommonParameters",
    "ForkParameters",
    "BenchmarkForkParameters",
    "JoinParameters",
    "BenchmarkJoinParameters",
    "BenchmarkFinalParameters",
)
_SIZES = "ProblemSizes"
_PASSED_OVER = (
    (r"LibraryLogic|LibraryClient|SolutionSelectionAlg|ExpandRanges",
     "mltune distil and mltune export do it"),
    (r"NumElementsToValidate|Validation\w+|DataInit\w+|BoundsCheck", "every element is checked"),
    (r"SleepPercent", "--rest pauses between measurements"),
    (r"Platform|Device|PlatformIdx|DeviceIdx", "--device chooses"),
    (r"ForceRedo\w+", "--resume continues a run"),
    (r"CpuThreads", "--builders says how many processes build"),
    (r"Print\w+|MinimumRequiredVersion|CMake\w+|\w+Path|Exit\w+|Code\w+|MergeFiles|ShortNames"
     r"|NumBenchmarks|LibraryPrintDebug|ShowProgressBar|WriteMasterSolutionIndex|PinClocks"
     r"|HardwareMonitor|NumWarmups|Enable\w+|MaxFileName|RuntimeLanguage|\w+Client\w*|CEqualD"
     r"|SortProblems|CSV\w+|PreciseKernelTime|LegacyComponents|ForceGenerateKernel|DebugKernel"
     r"|PackageLibrary|Architecture|CxxCompiler|DeviceLDS|MaxLDS|MaxDepthU",
     "it changes nothing here"),
)  # fmt: skip
_MOST_COMBINATIONS = 100_000
_SAMPLES = ("SyncsPerBenchmark", "EnqueuesPerSync")


def parse_protocol(text: str, name: str) -> Protocol:
    """Read the text of a protocol's file.

    Args:
        text: YAML.
        name: of the file, for messages.

    Raises:
        UsageError: with the line of the first mistake.
    """
    top = parse_document(text, name).mapping("a protocol")
    for key, item in top.items():
        if key not in _TOP:
            raise UsageError(f"{item.where}: {unknown('key', key, _TOP)}")
    if "BenchmarkProblems" not in top:
        raise UsageError(f"{name}: lacks the key 'BenchmarkProblems'")
    settings = _optional(top.get("GlobalParameters"))
    problems: dict[str, Problems] = {}
    for entry in top["BenchmarkProblems"].sequence("'BenchmarkProblems'"):
        read = _problems(entry)
        kind = problem_type_name(read.contraction)
        if kind in problems:
            raise UsageError(
                f"{entry.where}: {kind} stands twice; put its groups of sizes into one entry"
            )
        problems[kind] = read
    if not problems:
        raise UsageError(f"{top['BenchmarkProblems'].where}: 'BenchmarkProblems' is empty")
    notes = (
        *(_note(key, item) for key, item in settings.items() if key not in _SAMPLES),
        *(_note(key, top[key]) for key in _TOP[2:] if key in top),
    )
    return Protocol(
        name=name,
        text=text,
        problems=tuple(problems.values()),
        samples=_samples(settings),
        notes=tuple(note for note in notes if note),
    )


def _optional(item: Item | None) -> dict[str, Item]:
    return {} if item is None or item.content == "" else item.mapping("the settings")


def _samples(settings: dict[str, Item]) -> int | None:
    """Return how often a kernel is timed: launches in a row, times the number of such rows."""
    given = [settings[key] for key in _SAMPLES if key in settings]
    product = 1
    for item in given:
        value = item.scalar("a number of launches")
        if not isinstance(value, int) or value < 0:
            raise UsageError(f"{item.where}: a number of launches must be at least 0, got {value}")
        product *= value
    return product if given and product else None


def _note(key: str, item: Item) -> str:
    if key == "KernelTime":
        if str(item.scalar(key)).lower() != "true":
            raise UsageError(f"{item.where}: KernelTime: only the device's own times are taken")
        return ""
    for pattern, reason in _PASSED_OVER:
        if re.fullmatch(pattern, key):
            return f"{item.where}: {key} is passed over: {reason}"
    raise UsageError(f"{item.where}: unknown global parameter '{key}'")


def _problems(item: Item) -> Problems:
    entries = item.sequence("a problem type with its groups of sizes")
    if len(entries) < 2:
        raise UsageError(
            f"{item.where}: a problem type and at least one group, got {len(entries)}"
        )
    contraction = read_problem_type(entries[0])
    return Problems(contraction, level(_group(entry, contraction) for entry in entries[1:]))


def _group(item: Item, contraction: Contraction) -> Group:
    entries = item.mapping("a group of problem sizes")
    for key, value in entries.items():
        if key not in _GROUP:
            raise UsageError(f"{value.where}: {unknown('step', key, _GROUP)}")

    def steps(key: str, sizes: tuple[Size, ...]) -> tuple[tuple[Step, ...], tuple[Size, ...]]:
        return _steps(entries.get(key), key, sizes, contraction)

    common, sizes = steps("BenchmarkCommonParameters", ())
    fork_steps, sizes = steps("BenchmarkForkParameters", sizes)
    join = _join(entries.get("JoinParameters"))
    if join is not None and not sizes:
        raise UsageError(
            f"{entries['JoinParameters'].where}: JoinParameters: no {_SIZES} before it, "
            "so the kernels cannot be compared (give them under BenchmarkForkParameters)"
        )
    join_steps, _ = steps("BenchmarkJoinParameters", sizes)
    final = "BenchmarkFinalParameters"
    left, final_sizes = steps(final, ())
    if left:
        raise UsageError(f"{entries[final].where}: {final}: {_SIZES}, and no parameter")
    if not final_sizes:
        raise UsageError(f"{item.where}: a group needs {final} with {_SIZES}")
    fork = tuple(_choices(entries.get("ForkParameters"), "a forked parameter"))
    if fork:
        _check_count(fork, f"{entries['ForkParameters'].where}: ForkParameters")
    initial = tuple(_choices(entries.get("InitialSolutionParameters"), "a fixed parameter"))
    for choice in initial:
        if len(choice.values) > 1:
            raise UsageError(
                f"{entries['InitialSolutionParameters'].where}: {choice.name}: "
                f"one value to begin with, got {len(choice.values)}"
            )
    return Group(
        initial=initial,
        common=common,
        fork=fork,
        fork_steps=fork_steps,
        join=join,
        join_sizes=sizes,
        join_steps=join_steps,
        final_sizes=final_sizes,
    )


def _steps(
    item: Item | None, key: str, sizes: tuple[Size, ...], contraction: Contraction
) -> tuple[tuple[Step, ...], tuple[Size, ...]]:
    """Return the steps under a key, and the sizes that are current after them."""
    steps = []
    for entry in _listed(item, key):
        found = dict(entry.mapping("a step"))
        if _SIZES in found:
            sizes = read_sizes(found.pop(_SIZES), contraction)
        choices = tuple(_choice(name, values) for name, values in found.items())
        if not choices:
            continue
        where = f"{entry.where}: {key}"
        if not sizes and any(len(choice.values) > 1 for choice in choices):
            raise UsageError(f"{where}: no {_SIZES} before this step")
        _check_count(choices, where)
        steps.append(Step(choices, sizes, where))
    return tuple(steps), sizes


def _check_count(choices: Sequence[Choice], where: str) -> None:
    """Refuse more combinations than anyone would measure; their list would fill the memory."""
    count = math.prod(len(choice.values) for choice in choices)
    if count > _MOST_COMBINATIONS:
        raise UsageError(
            f"{where}: {count:,} combinations, at most {_MOST_COMBINATIONS:,} are allowed"
        )


def _choices(item: Item | None, what: str) -> Iterator[Choice]:
    for entry in _listed(item, what):
        for name, values in entry.mapping(what).items():
            yield _choice(name, values)


def _choice(name: str, item: Item) -> Choice:
    values = item.sequence(f"{name}: the values")
    if not values:
        raise UsageError(f"{item.where}: {name}: needs at least one value")
    return Choice(name, tuple(dict.fromkeys(read_value(name, value) for value in values)))


def _join(item: Item | None) -> tuple[str, ...] | None:
    """Return the joined parameters; an empty key joins nothing, `[]` leaves one kernel."""
    if item is None or item.content == "":
        return None
    names = []
    for entry in item.sequence("'JoinParameters'"):
        name = entry.text("a joined parameter")
        try:
            joined_value(name, complete({}))
        except UsageError as error:
            raise UsageError(f"{entry.where}: JoinParameters: {error}") from error
        names.append(name)
    return tuple(names)


def _listed(item: Item | None, what: str) -> tuple[Item, ...]:
    return () if item is None or item.content == "" else item.sequence(what)
