"""Sizes in text: `512x512x64`, with a range in any dimension: `64:512:64x64:512:*2x128`."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence

from mltune.errors import UsageError
from mltune.problem.size import MAX_EXTENT, MAX_SIZES, Size

_SIZE = re.compile(r"[0-9:*]+(?:x[0-9:*]+)*", re.IGNORECASE)
_NUMBER = re.compile(r"[0-9]+")
_RANGE = re.compile(r"([0-9]+):([0-9]+)(?::(\*?)([0-9]{1,10}))?")


def looks_like_size(text: str) -> bool:
    """Whether `text` has the form of extents, and is no name of a suite or a file."""
    return not re.search(r"[a-wyz/]", text, re.IGNORECASE)


def parse_size_text(text: str) -> tuple[Size, ...]:
    """Read one `MxNxK`, `MxNxKxB` or other number of extents, each a number or a range.

    A range is `start:stop`, `start:stop:step` or `start:stop:*factor`; it ends at the last value
    up to `stop`. Several ranges give every combination, the last one fastest.

    Raises:
        UsageError: when it is no such text, or gives more than `MAX_SIZES` sizes.
    """
    word = text.strip()
    if not _SIZE.fullmatch(word):
        raise UsageError(f"size '{text}': expected MxNxK or MxNxKxB, such as 512x512x64")
    dimensions = [_values(part, word) for part in word.lower().split("x")]
    total = math.prod(len(values) for values in dimensions)
    if total > MAX_SIZES:
        raise UsageError(f"size '{word}': gives {total} sizes, the most is {MAX_SIZES}")
    return tuple(Size(extents) for extents in itertools.product(*dimensions))


def _values(part: str, word: str) -> Sequence[int]:
    if _NUMBER.fullmatch(part):
        return (_extent(part, word),)
    match = _RANGE.fullmatch(part)
    if match is None:
        raise UsageError(
            f"size '{word}': '{part}' is neither a number nor start:stop[:step] "
            "nor start:stop:*factor"
        )
    start, stop = _extent(match[1], word), _extent(match[2], word)
    if start > stop:
        raise UsageError(f"size '{word}': the range '{part}' starts above its end")
    step = int(match[4] or 1)
    if match[3]:
        if step < 2:
            raise UsageError(f"size '{word}': the factor of '{part}' must be at least 2")
        return _geometric(start, stop, step)
    if step < 1:
        raise UsageError(f"size '{word}': the step of '{part}' must be at least 1")
    return range(start, stop + 1, step)


def _geometric(start: int, stop: int, factor: int) -> tuple[int, ...]:
    values = []
    value = start
    while value <= stop:
        values.append(value)
        value *= factor
    return tuple(values)


def _extent(digits: str, word: str) -> int:
    if len(digits) > len(str(MAX_EXTENT)) or not 1 <= int(digits) <= MAX_EXTENT:
        raise UsageError(f"size '{word}': each extent must be 1 to {MAX_EXTENT}, got {digits}")
    return int(digits)
