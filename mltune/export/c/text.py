"""Text and expressions in C99: comments, string literals, and operators."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence

from mltune.export.expression import Dialect
from mltune.export.plain import plain

DIALECT = Dialect(
    templates={"ceil_div": "cover({0}, {1})", "flag": "({0})", "given": "({0}) * {1}"},
    symbols={"//": "/"},
)
"""For expressions that cannot overflow."""

FEATURES_DIALECT = Dialect(
    templates={"*": "product({0}, {1})", "max": "at_least({1}, {0})"}, symbols={"//": "/"}
)
"""In int64_t; products that are too large become INT64_MAX."""

GEOMETRY_DIALECT = Dialect(
    templates={
        "*": "product({0}, {1})",
        "+": "sum({0}, {1})",
        "max": "higher({0}, {1})",
        "ceil_div": "cover({0}, {1})",
    },
    symbols={"//": "/"},
)
"""In uint64_t; sums and products that are too large become UINT64_MAX."""

_LITERAL_BYTES = 1000
"""Well below the 4,095 characters that C99 guarantees for a string literal, escapes included."""


def comment(paragraphs: Sequence[str]) -> str:
    """Return the inner lines of a block comment, one paragraph after another."""
    lines = [line for each in paragraphs for line in textwrap.wrap(plain(each), 88) or [""]]
    return "\n".join(f" * {_apart(line)}".rstrip() for line in lines)


def literals(text: str) -> Iterator[str]:
    """Yield string literals that together are a text: one for each line, more for long lines."""
    for line in text.encode().splitlines(keepends=True):
        for start in range(0, len(line), _LITERAL_BYTES):
            # one character for each byte
            part = line[start : start + _LITERAL_BYTES].decode("latin-1")
            yield f'"{part.translate(_ESCAPES)}"'


def literal(text: str) -> str:
    """Return one string literal for a short text."""
    return " ".join(literals(text)) or '""'


def _apart(line: str) -> str:
    """Put a space between star and slash, so that no comment begins or ends in the line."""
    return re.sub(r"(?<=\*)(?=/)|(?<=/)(?=\*)", " ", line)


# Octal escapes end after three digits; a hexadecimal one would continue with the next characters.
_ESCAPES = {byte: f"\\{byte:03o}" for byte in range(256) if not 0x20 <= byte < 0x7F} | {
    ord("\n"): "\\n",
    ord("\t"): "\\t",
    ord('"'): '\\"',
    ord("\\"): "\\\\",
    ord("?"): "\\?",  # two of them may begin a trigraph
}
