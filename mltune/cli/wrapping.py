"""Sentences that fit the terminal: broken between words, with commands that can be copied."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

_COMMAND = re.compile(r"(?:(?<=: )|^\s*)(?:mltune|make|pip|python3?|apt-get|createdb|export) .*")
_WORD = re.compile(r"""(?:'[^']*'|"[^"]*"|\S)+""")
_QUOTES = {"'", '"'}
_OR = re.compile(r" {4}(?=or[ :])")
_INDENT = "  "


def wrapped(line: str, room: int | None) -> list[str]:
    """Break a line between words.

    A command at its end, after a colon, gets a line of its own; several, with `or: `, a line each.
    A longer command is continued with a backslash, as in a shell, so that it can be copied.

    Args:
        line: without a line end.
        room: the terminal's columns; None is any number.
    """
    if room is None or len(line) <= room:
        return [line]
    margin = line[: len(line) - len(line.lstrip())]
    first, *others = _OR.split(line)
    if others:
        whole = [first, *(margin + one for one in others)]
        return [part for one in whole for part in wrapped(one, room)]
    found = _COMMAND.search(line)
    said, command = (line[: found.start()].rstrip(), found[0].strip()) if found else (line, "")
    lines = textwrap.wrap(
        said.strip(),
        room,
        initial_indent=margin,
        subsequent_indent=margin + _INDENT,
        break_long_words=False,
        break_on_hyphens=False,
    )
    if command:
        lines += _continued(margin + _INDENT * bool(lines) + command, room)
    return lines


def _continued(command: str, room: int) -> Iterator[str]:
    """Break a command between words, and lists of sizes behind commas, as a shell allows."""
    margin = command[: len(command) - len(command.lstrip())]
    indent, line = margin + 2 * _INDENT, margin
    words = _WORD.findall(command)
    for place, word in enumerate(words, start=1):
        backslash = 2 * (place < len(words))
        if line.strip() and len(line) + len(word) + backslash > room:
            yield f"{line}\\"
            line = indent
        for item in _items(word) if len(line) + len(word) + backslash > room else [word]:
            if line.strip() and len(line) + len(item) + 1 > room:
                yield f"{line}\\"  # a shell joins the next line, so it has no indent
                line = ""
            line += item
        line += " "
    yield line.rstrip()


def _items(word: str) -> list[str]:
    """Return the items of a list, each with its comma; quoted items stay whole."""
    return [word] if _QUOTES & {*word} else re.findall(r"[^,]*,|[^,]+", word)
