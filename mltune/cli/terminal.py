"""The terminal's properties: its width, and whether it shows colours."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import TextIO

from mltune.cli.streams import printable, width_of

STYLES = {"bold": "1", "good": "32", "bad": "31", "warning": "33", "heading": "1"}
_LEAST_COLUMNS = 40


def columns(stream: TextIO | None = None) -> int | None:
    """Return the columns of a stream (default: standard output); None if it is no terminal."""
    asked = sys.stdout if stream is None else stream
    return max(width_of(asked), _LEAST_COLUMNS) if _is_terminal(asked) else None


def has_colours(stream: TextIO) -> bool:
    """Whether a stream shows colours, and they are not disabled (https://no-color.org)."""
    return (
        _is_terminal(stream)
        and not os.environ.get("NO_COLOR")
        and os.environ.get("TERM", "dumb") != "dumb"
    )


def is_animated(stream: TextIO) -> bool:
    """Whether a stream is a terminal whose last lines can be written again."""
    return _is_terminal(stream) and os.environ.get("TERM", "").lower() not in ("dumb", "unknown")


def say(*parts: tuple[str, str], stream: TextIO | None = None) -> None:
    """Print a line of texts, each with its style; "" is no style."""
    out = sys.stdout if stream is None else stream
    if not has_colours(out):
        print("".join(text for text, _ in parts).rstrip(), file=out)
        return
    out.flush()
    raw = getattr(out, "stream", out)  # the stream below, as this one escapes control characters
    raw.write("".join(_styled(parts)).rstrip() + "\n")


def _styled(parts: Iterable[tuple[str, str]]) -> Iterable[str]:
    for text, style in parts:
        shown = printable(text)
        yield f"\x1b[{STYLES[style]}m{shown}\x1b[0m" if style else shown


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()
