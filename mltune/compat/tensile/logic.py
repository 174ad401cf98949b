"""Tensile's library logic: the fastest solution for exact sizes, and for ranges."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from mltune.compat.tensile.complete import complete
from mltune.compat.tensile.keys import flag, parameter_names, read_value
from mltune.compat.tensile.logic_text import DATA_TYPES
from mltune.compat.tensile.problem_type import check_types, transpose
from mltune.compat.tensile.range_logic import INDICES, read_ranges
from mltune.errors import UsageError
from mltune.problem import Contraction, Precision, Size, gemm
from mltune.selector import Tree
from mltune.space.config import Config, Value
from mltune.space.yaml_document import Item, parse_document

_TYPE, _SOLUTIONS, _ORDER, _EXACT, _RANGES = 4, 5, 6, 7, 8
"""Places in the file, which is one list."""

_PRECISIONS = {number: precision for precision, number in DATA_TYPES.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Logic:
    """The content of a file of library logic.

    Attributes:
        sizes: the exact ones.
        configs: the solutions as configs of `tiled`, without duplicates.
        notes: one line for every part that mltune lacks.
    """

    contraction: Contraction
    sizes: tuple[Size, ...]
    configs: tuple[Config, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """The config that library logic chooses for a size, by number.

    Attributes:
        exact: for sizes (m, n, k, batch).
        tree: for others; None if the file has no ranges.
    """

    exact: tuple[tuple[tuple[int, int, int, int], int], ...]
    tree: Tree | None


def parse_logic(text: str, name: str) -> Logic:
    """Read the text of a file of library logic.

    Raises:
        UsageError: with the line of the first mistake.
    """
    parts = _parts(text, name)
    left_out: Counter[str] = Counter()
    solutions = parts[_SOLUTIONS].sequence("the solutions")
    configs = [config for item in solutions if (config := _config(item, left_out)) is not None]
    exact = parts[_EXACT].content
    sizes = [_size(row) for row in exact] if isinstance(exact, tuple) else []
    batched = any(len(size.extents) > 3 for size in sizes)
    return Logic(
        contraction=_contraction(parts[_TYPE], batched),
        sizes=tuple(dict.fromkeys(sizes)),
        configs=tuple(dict.fromkeys(configs)),
        notes=tuple(
            f"{name}: not carried over: {what} ({count} of {len(solutions)} solutions)"
            for what, count in left_out.items()
        ),
    )


def parse_choice(text: str, name: str) -> Choice:
    """Read the choice among the configs of `parse_logic`.

    Raises:
        UsageError: with the line of the first mistake, such as a solution that mltune lacks.
    """
    parts = _parts(text, name)
    solutions = [_config(item, Counter()) for item in parts[_SOLUTIONS].sequence("the solutions")]
    unique = dict.fromkeys(config for config in solutions if config is not None)
    number_of = {config: number for number, config in enumerate(unique)}
    numbers = {
        place: number_of[config] for place, config in enumerate(solutions) if config is not None
    }
    exact = {}
    content = parts[_EXACT].content
    for row in content if isinstance(content, tuple) else ():
        m, n, k, *batch = _size(row).extents
        won = row.sequence("an exact size")[1:]
        pair = won[0].sequence("solution and speed") if won else ()
        number = pair[0].content if pair else None
        if not isinstance(number, int) or number not in numbers:
            raise UsageError(f"{row.where}: there is no solution {number} with a counterpart")
        exact[m, n, k, batch[0] if batch else 1] = numbers[number]
    ranges = parts[_RANGES] if len(parts) > _RANGES else None
    tree = None
    if ranges is not None and isinstance(ranges.content, tuple):
        tree = read_ranges(ranges, _order(parts[_ORDER]), numbers)
    return Choice(tuple(exact.items()), tree)


def _parts(text: str, name: str) -> tuple[Item, ...]:
    parts = parse_document(text, name).sequence("library logic")
    if len(parts) <= _EXACT:
        raise UsageError(f"{name}: library logic has at least {_EXACT + 1} parts")
    return parts


def _order(item: Item) -> list[str]:
    """Return the extents that the levels of the ranges ask for."""
    listed = [one.content for one in item.sequence("the order of the indices")]
    names = INDICES if len(listed) == len(INDICES) else ("m", "n", "k")
    if sorted(map(str, listed)) != [str(place) for place in range(len(names))]:
        raise UsageError(f"{item.where}: the order of the indices must name each of them once")
    return [names[number] for number in listed if isinstance(number, int)]


def _contraction(item: Item, batched: bool) -> Contraction:
    fields = item.mapping("the problem type")
    number = fields["DataType"].scalar("'DataType'") if "DataType" in fields else 0
    if not isinstance(number, int) or number not in _PRECISIONS:
        known = ", ".join(map(str, _PRECISIONS))
        raise UsageError(f"{item.where}: DataType: {number} is not supported (known: {known})")
    flags: dict[str, bool] = {
        key: flag(fields[key], key)
        for key in ("TransposeA", "TransposeB", "ComplexConjugateA", "ComplexConjugateB")
        if key in fields
    }
    precision = _PRECISIONS[number]
    check_types(fields, precision, _type)
    try:
        sides = transpose(flags, "A", precision), transpose(flags, "B", precision)
    except UsageError as error:
        raise UsageError(f"{item.where}: {error}") from error
    return gemm(precision, *sides, batched=batched)


def _type(item: Item) -> Precision | None:
    number = item.scalar("a data type")
    return _PRECISIONS.get(number) if isinstance(number, int) else None


def _config(item: Item, left_out: Counter[str]) -> Config | None:
    """Convert a solution to a config; count the settings that mltune lacks."""
    settings: dict[str, Value] = {}
    known = parameter_names()
    for name, value in item.mapping("a solution").items():
        if name not in known:
            continue
        try:
            settings |= read_value(name, value)
        except UsageError:
            left_out[f"{name}: {value.content!r:.40}"] += 1
    if "work_group_0" not in settings or "thread_tile_0" not in settings:
        left_out["a solution without WorkGroup and ThreadTile"] += 1
        return None
    return complete(settings)


def _size(item: Item) -> Size:
    """Read M, N, batch and K, or M, N and K; four leading dimensions may follow, as if packed."""
    entry = item.sequence("an exact size")
    listed = entry[0].sequence("the extents") if entry else ()
    extents = [one.content for one in listed if isinstance(one.content, int)]
    own = extents[: 3 if len(extents) in (3, 7) else 4]
    if len(extents) < max(3, len(listed)) or min(own) < 1:
        raise UsageError(f"{item.where}: an exact size must begin with its extents")
    if len(own) == 3:
        return Size(tuple(own))
    m, n, batch, k = own
    return Size((m, n, k)) if batch == 1 else Size((m, n, k, batch))
