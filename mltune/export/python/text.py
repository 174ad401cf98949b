"""Strings and expressions in Python.

`plain_paragraphs` escapes docstrings.
"""

from __future__ import annotations

import re

from mltune.export.expression import Dialect

DIALECT = Dialect(
    templates={
        "ceil_div": "-(-{0} // {1})",
        "max": "max({0}, {1})",
        ":=": "({0} := {1})",
        "flag": "({0})",
        "given": "({0} if {1} else 0)",
    },
    tight=frozenset({"ceil_div"}),
)
"""Python's whole numbers are exact."""

_AS_IT_IS = re.compile(r"[A-Za-z0-9 _.,:=+/-]*")


def literal(text: str) -> str:
    """Return a string literal for any text."""
    return f'"{text}"' if _AS_IT_IS.fullmatch(text) else ascii(text)
