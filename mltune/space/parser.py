"""Reads the text of an expression by precedence climbing; errors name the column."""

from __future__ import annotations

import re
from dataclasses import dataclass

from mltune.errors import UsageError
from mltune.space.expression import MAX_TERMS, Name, Node, Number, Operation, Word

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<number>[0-9]+)
      | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<word>"[^"]*"|'[^']*')
      | (?P<symbol>//|<=|>=|==|!=|[-+*%<>(),])
    )""",
    re.VERBOSE,
)
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
"""The operators that compare two values."""

_COMPARISON_LEVEL = 3
LEVELS = {
    "or": 1,
    "and": 2,
    **dict.fromkeys(COMPARISONS, _COMPARISON_LEVEL),
    **dict.fromkeys("+-", 4),
    **dict.fromkeys(("*", "//", "%"), 5),
}
"""The precedence of each binary operator, from loose to tight."""

_MOST_DIGITS = 18  # also of the numbers in a space's values
_FUNCTIONS = {"min": "two or more", "max": "two or more", "ceil_div": "two"}
_HINTS = {
    "/": "; whole numbers divide with //",
    "=": "; compare with ==",
    "!": "; write not, or !=",
    "&": "; write and",
    "|": "; write or",
    ".": "; numbers are whole",
}

RESERVED = frozenset({"and", "or", "not", *_FUNCTIONS})
"""Words that cannot be names."""


def parse(text: str) -> Node:
    """Read an expression: whole numbers, names, quoted words, and the operators of mltune.

    From loose to tight: `or`, `and`, `not`, one comparison, `+ -`, `* // %`, unary `-`. The
    functions are `min(a, b, ...)`, `max(a, b, ...)` and `ceil_div(a, b)`.

    Raises:
        UsageError: with the column, and the token that was expected there.
    """
    parser = _Parser(_tokens(text))
    node = parser.expression(1)
    parser.expect_end()
    return node


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    column: int

    def __str__(self) -> str:
        return f"'{self.text}'" if self.text else "the end"


def _tokens(text: str) -> list[_Token]:
    """Split a text into tokens, with an empty one at the end."""
    tokens: list[_Token] = []
    position, end = 0, len(text.rstrip())
    while position < end:
        match = _TOKEN.match(text, position)
        if match is None:
            column = position + len(text[position:]) - len(text[position:].lstrip())
            character = text[column]
            hint = _HINTS.get(character, "")
            raise UsageError(f"column {column + 1}: unexpected character {character!r}{hint}")
        kind = str(match.lastgroup)
        tokens.append(_Token(kind, match[kind], match.start(kind) + 1))
        position = match.end()
    return [*tokens, _Token("end", "", end + 1)]


class _Parser:
    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._next = 0
        self._terms = 0

    def expression(self, level: int) -> Node:
        """Read operands joined by operators with at least this precedence."""
        node = self._operand()
        compared = False
        while (found := LEVELS.get(self._token.text, 0)) >= level:
            if found == _COMPARISON_LEVEL and compared:
                raise self._error("expected 'and': comparisons cannot be chained")
            compared = found == _COMPARISON_LEVEL
            symbol = self._take().text
            node = Operation(symbol, (node, self.expression(found + 1)))
        return node

    def expect_end(self) -> None:
        """Refuse text after a complete expression."""
        if self._token.kind != "end":
            raise self._error("expected an operator or the end")

    @property
    def _token(self) -> _Token:
        return self._tokens[self._next]

    def _take(self) -> _Token:
        token = self._token
        self._next += 1
        return token

    def _error(self, expected: str) -> UsageError:
        return UsageError(f"column {self._token.column}: {expected}, got {self._token}")

    def _expect(self, symbol: str) -> None:
        if self._token.text != symbol:
            raise self._error(f"expected '{symbol}'")
        self._take()

    def _operand(self) -> Node:
        # Each level of nesting passes here, so this also limits the depth of the tree.
        self._terms += 1
        if self._terms > MAX_TERMS:
            raise self._error(f"expected at most {MAX_TERMS} terms")
        token = self._token
        if token.text in {*LEVELS, "", ")", ","} - {"-"}:
            raise self._error("expected a number, a name or '('")
        self._take()
        match token:
            case _Token("number", text):
                if len(text) > _MOST_DIGITS:
                    raise UsageError(
                        f"column {token.column}: a number has at most {_MOST_DIGITS} digits"
                    )
                return Number(int(text))
            case _Token("word", text):
                return Word(text[1:-1])
            case _Token(_, "("):
                node = self.expression(1)
                self._expect(")")
                return node
            case _Token(_, "-"):
                return Operation("negate", (self._operand(),))
            case _Token(_, "not"):
                return Operation("not", (self.expression(_COMPARISON_LEVEL),))
            case _Token(_, text) if text in _FUNCTIONS:
                return Operation(text, self._arguments(text))
        return Name(token.text)

    def _arguments(self, function: str) -> tuple[Node, ...]:
        self._expect("(")
        arguments = [self.expression(1)]
        while self._token.text == ",":
            self._take()
            arguments.append(self.expression(1))
        count = _FUNCTIONS[function]
        if len(arguments) < 2 or (count == "two" and len(arguments) > 2):
            raise self._error(f"expected {count} arguments for {function}")
        self._expect(")")
        return tuple(arguments)
