"""Calls of a program in a CSV file: problem,m,n,k[,batch][,count][,seconds][,interface].

`mltune trace` writes such files; a file of sizes without the column `problem` is read, too.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from mltune.errors import UsageError
from mltune.problem.calls import Calls, check_gemms, merge_calls
from mltune.problem.contraction import Contraction
from mltune.problem.gemm import parse_problem_type, problem_type_name
from mltune.problem.size import Size
from mltune.problem.size_file import NOTE_COLUMNS, csv_rows
from mltune.reading import read_text

_EXTENTS = ("m", "n", "k", "batch")
COLUMNS = ("problem", *_EXTENTS, "count", "seconds", "interface")
_MOST_BYTES = 16 * 2**20


def read_calls(path: Path, contractions: Sequence[Contraction] = ()) -> tuple[Calls, ...]:
    """Read the calls of a CSV file; equal ones are merged.

    Args:
        path: of the file.
        contractions: the problem types. If the file names problem types, only these are read; else
            every size is used for each of them.

    Raises:
        UsageError: when the file cannot be read, is something else, or names a problem type that
            is no BLAS GEMM; it names the line.
    """
    text = read_text(path, _MOST_BYTES)
    calls = list(_calls(text, path, contractions))
    if not calls:
        of = " of these problem types" if contractions else ""
        raise UsageError(f"{path}: holds no calls{of}")
    return merge_calls(calls)


def calls_text(calls: Iterable[Calls]) -> str:
    """Write calls as the text of a file that `read_calls` reads, the most costly first."""
    rows = sorted(calls, key=lambda each: (-(each.seconds or 0.0), -each.size.count))
    return "".join(f"{line}\n" for line in (",".join(COLUMNS), *map(_line, rows)))


def _line(each: Calls) -> str:
    extents = each.size.extents
    m, n, k, batch = extents if len(extents) == 4 else (*extents, 1)
    seconds = "" if each.seconds is None else f"{each.seconds:.9g}"
    name = problem_type_name(each.contraction)
    return f"{name},{m},{n},{k},{batch},{each.size.count},{seconds},{each.interface}"


def _calls(text: str, path: Path, contractions: Sequence[Contraction]) -> Iterator[Calls]:
    for where, row in csv_rows(text, path, (*COLUMNS, *NOTE_COLUMNS)):
        if word := row.get("problem", ""):
            named = [_problem_type(word, where)]
            if contractions and named[0] not in contractions:
                continue
            check_gemms(named, where)
        elif contractions:
            named = list(contractions)
        else:
            raise UsageError(f"{where}: names no problem type (a column 'problem', or --problems)")
        for contraction in named:
            yield Calls(
                contraction=contraction,
                size=_size(row, contraction, where),
                seconds=_seconds(row, where),
                interface=_interface(row, where),
            )


def _problem_type(word: str, where: str) -> Contraction:
    try:
        return parse_problem_type(word)
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from error


def _size(row: dict[str, str], contraction: Contraction, where: str) -> Size:
    given = [name for name in (*_EXTENTS, "count") if name in "mnk" or row.get(name)]
    numbers = {name: _whole(row, name, where) for name in given}
    extents = [numbers[name] for name in "mnk"]
    if contraction.batch_indices:
        extents.append(numbers.get("batch", 1))
    elif numbers.get("batch", 1) != 1:
        raise UsageError(
            f"{where}: {problem_type_name(contraction)} has no batch, got {numbers['batch']}"
        )
    try:
        return Size(tuple(extents), numbers.get("count", 1))
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from error


def _whole(row: dict[str, str], name: str, where: str) -> int:
    if not re.fullmatch(r"[0-9]{1,15}", row[name]):
        needed = "a whole number of at most 15 digits"
        raise UsageError(f"{where}: {name} must be {needed}, got '{row[name]:.40}'")
    return int(row[name])


def _seconds(row: dict[str, str], where: str) -> float | None:
    text = row.get("seconds", "")
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds < math.inf:
        raise UsageError(f"{where}: seconds must be a number of at least 0, got '{text}'")
    return seconds


def _interface(row: dict[str, str], where: str) -> str:
    word = row.get("interface", "")
    if not re.fullmatch(r"[a-z0-9_]{0,20}", word):
        raise UsageError(f"{where}: interface must be a word such as clblast, got '{word:.40}'")
    return word
