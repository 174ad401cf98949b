"""The doors through which text enters Rust: comments and string literals; and its expressions."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from mltune.export.expression import Dialect
from mltune.export.plain import plain

FEATURES_DIALECT = Dialect(
    templates={"*": "i64::saturating_mul({0}, {1})", "max": "i64::max({0}, {1})"},
    symbols={"//": "/"},
)
"""Products that are too large are i64::MAX."""

FORMULAS_DIALECT = Dialect(
    templates={
        "ceil_div": "u64::div_ceil({0}, {1})",
        "flag": "u64::from({0})",
        "given": "({0}) * {1}",
    }
)
"""Where it is known that nothing overflows."""

GEOMETRY_DIALECT = Dialect(
    templates={
        "*": "u64::saturating_mul({0}, {1})",
        "+": "u64::saturating_add({0}, {1})",
        "max": "u64::max({0}, {1})",
        "ceil_div": "u64::div_ceil({0}, {1})",
    },
    symbols={"//": "/"},
)
"""Sums and products that are too large are u64::MAX."""


def comment(paragraphs: Sequence[str]) -> str:
    """The documentation of a crate, one paragraph after another."""
    lines = [line for each in paragraphs for line in (*textwrap.wrap(plain(each), 92), "")]
    return "\n".join(f"//! {line}".rstrip() for line in lines[:-1])


def literal(text: str) -> str:
    """One string literal, whatever the text is."""
    return (
        '"'
        + "".join(letter if letter in _KEPT else f"\\u{{{ord(letter):x}}}" for letter in text)
        + '"'
    )


_KEPT = frozenset(map(chr, range(0x20, 0x7F))) - {'"', "\\"}
