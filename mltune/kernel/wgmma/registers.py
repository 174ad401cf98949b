"""Lists the registers of instructions that take many of them, on the lines of a macro."""

from __future__ import annotations

_PER_LINE = 4
_NEW_LINE = " \\\n        "


def in_text(count: int) -> str:
    """The operands from the first on, inside a string that goes on from line to line."""
    return _lines("%{}", count, f', "{_NEW_LINE}"')


def as_operands(pattern: str, count: int) -> str:
    """Expressions, with `{}` for their numbers."""
    return _lines(pattern, count, f",{_NEW_LINE}")


def _lines(pattern: str, count: int, between: str) -> str:
    texts = [pattern.format(number) for number in range(count)]
    lines = [", ".join(texts[at : at + _PER_LINE]) for at in range(0, count, _PER_LINE)]
    return between.join(lines)
