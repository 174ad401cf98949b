"""Foreign text, such as a device's name, reduced to characters that are safe in all languages."""

from __future__ import annotations

import string
import textwrap
from collections.abc import Sequence

_KEPT = frozenset(string.ascii_letters + string.digits + " .,:;()+-*/=_^%'")
"""Without double quotation marks and backslashes, and with round brackets only."""

_ALIKE = {'"': "'", "\\": "/", "[": "(", "{": "(", "<": "(", "]": ")", "}": ")", ">": ")"}


def plain(text: str) -> str:
    """Return a text of the same length, on one line, with only safe characters.

    Such a text cannot end a docstring in three double quotation marks, be an escape, or be markup.
    A comment of C needs more: `mltune.export.c.text.comment`.
    """
    return "".join(letter if letter in _KEPT else _ALIKE.get(letter, " ") for letter in text)


def plain_paragraphs(paragraphs: Sequence[str]) -> str:
    """Return paragraphs for a docstring or a README, wrapped, with an empty line between them."""
    return "\n\n".join(
        textwrap.fill(plain(each), 95, break_long_words=False, break_on_hyphens=False)
        for each in paragraphs
    )
