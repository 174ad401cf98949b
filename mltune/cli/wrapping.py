"""Sentences that fit the terminal: broken between words, with the commands in them kept whole."""

from __future__ import annotations

import re
import textwrap

_COMMAND = re.compile(r"(?:(?<=: )|^)(?:mltune|make|pip|python3?|apt-get|createdb|export) .*")
_INDENT = "  "


def wrapped(line: str, room: int | None) -> list[str]:
    """Break a line between words.

    A command at its end, after a colon, stands on a line of its own. It is never broken, so that
    it can be copied; the terminal continues it where it is too long.

    Args:
        line: without a line end.
        room: the terminal's columns; None is any number.
    """
    if room is None or len(line) <= room:
        return [line]
    margin = line[: len(line) - len(line.lstrip())]
    found = _COMMAND.search(line)
    said, command = (line[: found.start()].rstrip(), found[0]) if found else (line, "")
    lines = textwrap.wrap(
        said.strip(),
        room,
        initial_indent=margin,
        subsequent_indent=margin + _INDENT,
        break_long_words=False,
        break_on_hyphens=False,
    )
    if command:
        lines.append(margin + _INDENT * bool(lines) + command)
    return lines
