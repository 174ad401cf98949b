"""Simplifies expressions by known values of their names, and writes them as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mltune.space.domain import Domain, EnumDomain, IntDomain, infer
from mltune.space.expression import Name, Node, Number, Operation, Word
from mltune.space.parser import COMPARISONS, LEVELS

_NOT_LEVEL, _TIGHTEST = 3, 6


def specialize(node: Node, scope: Mapping[str, Domain]) -> Node | bool:
    """Insert the known values of names, and simplify.

    Args:
        node: an expression.
        scope: the domains of its names.

    Returns:
        The remaining expression, or the truth of a condition that is decided.
    """
    if isinstance(node, Name):
        return _single(scope[node.text]) or node
    if not isinstance(node, Operation):
        return node
    symbol = node.operator
    parts = [specialize(operand, scope) for operand in node.operands]
    if symbol in ("and", "or"):
        return _joined(symbol, parts)
    if symbol == "not":
        return not parts[0] if isinstance(parts[0], bool) else Operation(symbol, (parts[0],))
    operands = tuple(part for part in parts if not isinstance(part, bool))
    domains = [infer(operand, scope) for operand in operands]
    if symbol in COMPARISONS:
        truth = _truth(symbol, *domains)
        return Operation(symbol, operands) if truth is None else truth
    if symbol in ("*", "//") and operands[1] == Number(1):
        return operands[0]
    rest = Operation(symbol, operands)
    return _single(infer(rest, scope)) or rest


def to_text(node: Node, level: int = 0) -> str:
    """Write an expression so that `parse` reads the same tree.

    Args:
        node: the expression.
        level: the precedence of the operator around it; 0 if there is none.
    """
    if isinstance(node, Number):
        return str(node.value)
    if isinstance(node, Word):
        return f'"{node.value}"'
    if isinstance(node, Name):
        return node.text
    symbol, operands = node.operator, node.operands
    if symbol in ("negate", "not"):
        own = _TIGHTEST if symbol == "negate" else _NOT_LEVEL
        text = ("-" if symbol == "negate" else "not ") + to_text(operands[0], own)
    elif symbol in LEVELS:
        own = LEVELS[symbol]
        text = f"{to_text(operands[0], own)} {symbol} {to_text(operands[1], own + 1)}"
    else:
        return f"{symbol}({', '.join(to_text(operand) for operand in operands)})"
    return f"({text})" if own < level else text


def _single(domain: Domain) -> Node | None:
    """Return the only value of a domain; None if it has more."""
    if isinstance(domain, IntDomain) and domain.low == domain.high:
        return Number(domain.low)
    if isinstance(domain, EnumDomain) and len(domain.values) == 1:
        return Word(domain.values[0])
    return None


def _joined(symbol: str, parts: Sequence[Node | bool]) -> Node | bool:
    """Join two conditions by `and` or `or`; some may be decided."""
    deciding = symbol == "or"
    if any(part is deciding for part in parts):
        return deciding
    rest = [part for part in parts if not isinstance(part, bool)]
    if not rest:
        return not deciding
    return Operation(symbol, tuple(rest)) if len(rest) == 2 else rest[0]


def _truth(symbol: str, left: Domain, right: Domain) -> bool | None:
    """Return whether a comparison holds for all values; None if it depends on them."""
    if symbol in (">", ">="):
        return _truth(symbol.replace(">", "<"), right, left)
    if symbol == "!=":
        equal = _truth("==", left, right)
        return None if equal is None else not equal
    if isinstance(left, IntDomain) and isinstance(right, IntDomain):
        always, never = {
            "<": (left.high < right.low, left.low >= right.high),
            "<=": (left.high <= right.low, left.low > right.high),
            "==": (
                left.low == left.high == right.low == right.high,
                left.high < right.low or right.high < left.low,
            ),
        }[symbol]
    else:
        assert isinstance(left, EnumDomain)  # `infer` has checked this
        assert isinstance(right, EnumDomain)
        always = left == right and len(left.values) == 1
        never = set(left.values).isdisjoint(right.values)
    return always or (False if never else None)
