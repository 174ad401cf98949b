"""Rows of other tuners, and their conversion to points."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mltune.errors import UsageError
from mltune.measurement.measurement import TIME_LIMITS, Status, is_time
from mltune.measurement.recording import Point
from mltune.run.fields import double
from mltune.space.config import Config, Value
from mltune.space.union import FAMILY

_PLAIN = (bool, int, float, str)
_MOST_DIGITS = 18


@dataclass(frozen=True, slots=True)
class Row:
    """One config as it was written, with its time in seconds or its failure."""

    where: str
    values: Mapping[str, Any]
    seconds: float | None
    status: Status


def timed(where: str, values: Mapping[str, Any], time: Any, per_second: float) -> Row | str:
    """Return the row of a config that has a time; a text if the time is none, with the reason.

    Args:
        where: names the row.
        values: of the parameters.
        time: as it was written.
        per_second: how many of its units a second has.
    """
    number = double(time)
    seconds = (number or 0.0) / per_second
    if not is_time(seconds):
        meant = "" if number is None else f" ({seconds:g} s)"
        return f"{where}: 'time' must be a number of {TIME_LIMITS}, got {time!r:.80}{meant}"
    return Row(where, values, seconds, Status.OK)


def to_points(rows: Iterable[Row | str]) -> tuple[tuple[Point, ...], str]:
    """Convert rows to points; of several with the same config the last one counts.

    Rows have the parameters of the first row, or of the first row of their kernel family.

    Args:
        rows: a text stands for a wrong row, with the reason.

    Returns:
        The points, and one line about rows that were left out; empty if none were.

    Raises:
        UsageError: when no row is left.
    """
    wrong: list[str] = []
    right: list[Row] = []
    names: dict[str, tuple[str, ...]] = {}
    for row in rows:
        if isinstance(row, str):
            wrong.append(row)
            continue
        expected = names.setdefault(str(row.values.get(FAMILY, "")), tuple(row.values))
        if complaint := _complaint(row, expected):
            wrong.append(f"{row.where}: {complaint}")
        else:
            right.append(row)
    if not right:
        raise UsageError(f"no usable row{f' ({wrong[0]})' if wrong else ''}")
    configs: list[dict[str, Value]] = [{} for _ in right]
    columns: dict[str, list[int]] = {}
    for number, row in enumerate(right):
        for name in row.values:
            columns.setdefault(name, []).append(number)
    for name, holders in columns.items():
        values = _column([right[number].values[name] for number in holders])
        for number, value in zip(holders, values, strict=True):
            configs[number][name] = value
    points: dict[Config, Point] = {}
    for row, settings in zip(right, configs, strict=True):
        config = Config.of(settings)
        points[config] = Point(config, row.seconds, row.status)
    return tuple(points.values()), _dropped(wrong)


def _complaint(row: Row, names: Sequence[str]) -> str:
    if row.values.keys() != set(names):
        return "its parameters are not those of the first row"
    for name, value in row.values.items():
        if not name.isprintable():
            return f"parameter {name!r:.80} has characters that no file can show"
        if not isinstance(value, _PLAIN):
            return f"parameter '{name:.80}' must be a number or a word, got {value!r:.80}"
        if isinstance(value, int) and abs(value) >= 10**_MOST_DIGITS:
            return f"parameter '{name:.80}' has more than {_MOST_DIGITS} digits"
    return ""


def _column(values: Sequence[Any]) -> list[Value]:
    """Convert one parameter's values to whole numbers if all of them are, else to words."""
    if all(_is_whole(value) for value in values):
        return [int(value) for value in values]
    words: dict[str, str] = {}
    taken: set[str] = set()
    for text in dict.fromkeys(map(str, values)):
        word = _word(text)
        while word in taken:
            word += "_"
        taken.add(word)
        words[text] = word
    return [words[str(value)] for value in values]


def _is_whole(value: Any) -> bool:
    return not isinstance(value, str) and abs(value) < 10**_MOST_DIGITS and value == int(value)


def _word(text: str) -> str:
    """Convert any text to a word that a parameter may have."""
    word = re.sub(r"[^A-Za-z0-9_.+-]", "_", text)
    return word if re.match(r"[A-Za-z_]", word) else f"_{word}"


def _dropped(wrong: Sequence[str]) -> str:
    if not wrong:
        return ""
    more = f", and {len(wrong) - 1} more" if len(wrong) > 1 else ""
    return f"{wrong[0]}; the row is left out{more}"
