"""JSON from any source: no more values than its size allows, and no field twice."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from mltune.errors import UsageError

_COSTS = ((b"{", 240), (b"[", 80), (b",", 40))
"""Bytes of memory for a value that begins with, or follows, this character."""
_MOST_TIMES = 8
"""Records take 2 to 5 bytes of memory for each byte of text, `[[],[],...` takes 25."""
_ALWAYS = 64 * 2**20


def parse_json(text: str | bytes, *, only_finite: bool = False) -> Any:
    """Read a JSON text.

    Args:
        text: in UTF-8, if it is bytes.
        only_finite: whether to refuse NaN and Infinity, which Python writes.

    Raises:
        UsageError: when it is no JSON, is nested too deeply, has far more values than text, or has
            a field twice.
    """
    check_density(text)
    try:
        return json.loads(
            text, object_pairs_hook=_mapping, parse_constant=_no_constant if only_finite else None
        )
    except RecursionError as error:
        raise UsageError("not JSON: nested too deeply") from error
    except json.JSONDecodeError as error:
        raise UsageError(f"line {error.lineno}: not JSON: {error.msg}") from error
    except ValueError as error:  # also UnicodeDecodeError, and errors of the hooks
        raise UsageError(f"not JSON: {error}") from error


def check_density(text: str | bytes) -> None:
    """Refuse a text that would need far more memory than its length.

    Raises:
        UsageError: when it would.
    """
    cost = sum(
        (text.count(mark) if isinstance(text, bytes) else text.count(mark.decode())) * each
        for mark, each in _COSTS
    )
    if cost > max(_MOST_TIMES * len(text), _ALWAYS):
        raise UsageError("not read: holds far more values than such a file has text")


def _mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise ValueError(f"field {name[:80]!r} stands twice")
            seen.add(name)
    return values


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")
