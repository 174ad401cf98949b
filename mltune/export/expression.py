"""Prints expressions: all languages share the tree, and each has its own operators.

Beside the operators of `mltune.space.expression` there are two for time formulas: `flag` converts
a condition to 1 or 0; `given` is its first operand if the second, a flag, is 1, else 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mltune.space.expression import Name, Node, Number, Operation, Word

_LEVELS = {"|": 1, "&": 2, "<=": 3, ">": 3, "+": 4, "-": 4, "*": 5, "//": 5, "%": 5}
_INSIDE, _ATOM = 0, 9

EXTENT_NAMES = {"i": "rows", "j": "columns", "l": "terms", "z": "batch", "u": "units"}
"""The names of `kernel.passes`'s extents in exports."""


def layout_names(field: str) -> dict[str, str]:
    """Return the names of the matrices' layouts: texts with a matrix `{0}` and a field `{1}`."""
    words = {"offset": "offset", "ld": "ld", "batch_stride": "stride"}
    return {f"{word}_{x}": field.format(x, words[word]) for x in "cab" for word in words}


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """The operators of a language.

    Attributes:
        templates: for operators that do not stand between their operands: a text with `{0}` and
            `{1}`, which needs no brackets around itself.
        tight: of these, the ones whose operands need brackets.
        symbols: for the others, if the language has another symbol than mltune.
    """

    templates: Mapping[str, str]
    tight: frozenset[str] = frozenset()
    symbols: Mapping[str, str] = field(default_factory=dict)

    def text(self, node: Node, names: Mapping[str, str] | None = None) -> str:
        """Write an expression.

        Args:
            node: the expression.
            names: replacements for its names.
        """
        return self._text(node, names or {}, _INSIDE)

    def _text(self, node: Node, names: Mapping[str, str], level: int) -> str:
        if isinstance(node, Name):
            return names.get(node.text, node.text)
        if isinstance(node, Number | Word):
            assert isinstance(node, Number), "words are for spaces"
            return str(node.value)
        symbol = node.operator
        if symbol in self.templates:
            inner = _ATOM if symbol in self.tight else _INSIDE
            operands = [self._text(operand, names, inner) for operand in node.operands]
            return self.templates[symbol].format(*operands)
        own, (left, right) = _LEVELS[symbol], node.operands
        written = self.symbols.get(symbol, symbol)
        # From the left: a - (b - c) keeps its brackets, (a - b) - c needs none.
        text = f"{self._text(left, names, own)} {written} {self._text(right, names, own + 1)}"
        return f"({text})" if own < level else text


def operators(node: Node) -> frozenset[str]:
    """Return the operators of an expression."""
    if not isinstance(node, Operation):
        return frozenset()
    return frozenset({node.operator}).union(*map(operators, node.operands))
