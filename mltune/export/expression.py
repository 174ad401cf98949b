"""Prints expressions: the tree is the same for all languages, each writes operators its own way.

Beside the operators of `mltune.space.expression` there are two for time formulas: `flag` makes 1
or 0 of a condition, and `given` is its first operand where the second, a flag, is 1, and else 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mltune.space.expression import Name, Node, Number, Operation, Word

_LEVELS = {"<=": 3, ">": 3, "+": 4, "-": 4, "*": 5, "//": 5, "%": 5}
_INSIDE, _ATOM = 0, 9

EXTENT_NAMES = {"i": "rows", "j": "columns", "l": "terms", "z": "batch", "u": "units"}
"""What exports call the extents of `kernel.passes`."""


def layout_names(field: str) -> dict[str, str]:
    """What a language writes for where C, A and B lie: a matrix `{0}` and its field `{1}`."""
    words = {"offset": "offset", "ld": "ld", "batch_stride": "stride"}
    return {f"{word}_{x}": field.format(x, words[word]) for x in "cab" for word in words}


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How a language writes expressions.

    Attributes:
        templates: for operators that do not stand between their operands: a text with `{0}` and
            `{1}`, which stands for itself wherever it is put.
        tight: of these, the ones whose operands need brackets.
        symbols: for the others, where the language does not write them as mltune does.
    """

    templates: Mapping[str, str]
    tight: frozenset[str] = frozenset()
    symbols: Mapping[str, str] = field(default_factory=dict)

    def text(self, node: Node, names: Mapping[str, str] | None = None) -> str:
        """Write an expression.

        Args:
            node: the expression.
            names: what to write for its names, where that is something else.
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
    """The operators of an expression."""
    if not isinstance(node, Operation):
        return frozenset()
    return frozenset({node.operator}).union(*map(operators, node.operands))
