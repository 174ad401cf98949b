"""The doors through which text enters Rust: comments and string literals; and its expressions."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from mltune.export.expression import Dialect
from mltune.export.plain import plain


def _functions(kind: str, **names: str) -> dict[str, str]:
    return {names[word]: f"{kind}::{word}({{0}}, {{1}})" for word in names}


_SATURATING = {"saturating_mul": "*", "saturating_add": "+", "max": "max", "div_ceil": "ceil_div"}
_DIVIDES = {"//": "/"}

CHOICE = Dialect(
    templates=_functions("i64", saturating_mul="*", max="max") | {"ceil_div": "cover({0}, {1})"},
    symbols=_DIVIDES,
)
"""Of features; products that are too large are i64::MAX."""

TIMES = Dialect(
    templates=_functions("u64", div_ceil="ceil_div")
    | {"flag": "u64::from({0})", "given": "({0}) * {1}"}
)
"""Of time formulas, where nothing overflows."""

GEOMETRY = Dialect(templates=_functions("u64", **_SATURATING), symbols=_DIVIDES)
"""Sums and products that are too large are u64::MAX."""


def comment(paragraphs: Sequence[str]) -> str:
    """The documentation of a crate, one paragraph after another."""
    lines = [line for each in paragraphs for line in (*textwrap.wrap(plain(each), 92), "")]
    return "\n".join(f"//! {line}".rstrip() for line in lines[:-1])


def literal(text: str) -> str:
    """One string literal, whatever the text is."""
    kept = [letter if letter in _KEPT else f"\\u{{{ord(letter):x}}}" for letter in text]
    return f'"{"".join(kept)}"'


_KEPT = frozenset(map(chr, range(0x20, 0x7F))) - {'"', "\\"}
