"""Expressions over whole numbers and words as trees, evaluated by closures, never by `eval`.

Every operation has a value: `domain.infer` refuses a divisor that can be 0 before anything is
evaluated, so a checked expression has a value for every config.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from mltune.space.config import Value

MAX_TERMS = 200
"""The most numbers, words and names in an expression, with its derived values written out."""

Row = Sequence[Value]
Evaluator = Callable[[Row], Value]


@dataclass(frozen=True, slots=True)
class Number:
    """A whole number."""

    value: int


@dataclass(frozen=True, slots=True)
class Word:
    """A quoted word."""

    value: str


@dataclass(frozen=True, slots=True)
class Name:
    """A parameter, a derived value, or a limit of the device."""

    text: str


@dataclass(frozen=True, slots=True)
class Operation:
    """An operator of `OPERATORS` with its operands."""

    operator: str
    operands: tuple[Node, ...]


Node = Number | Word | Name | Operation


def ceil_div(dividend: int, divisor: int) -> int:
    """Divide and round up."""
    return -(-dividend // divisor)


OPERATORS: dict[str, Callable[..., Value]] = {
    "or": operator.or_,
    "and": operator.and_,
    "not": operator.not_,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "|": operator.or_,
    "&": operator.and_,
    "negate": operator.neg,
    "min": min,
    "max": max,
    "ceil_div": ceil_div,
}
"""The function of each operator; `and` and `or` take conditions only, `|` and `&` whole numbers.

Spaces know neither `|` nor `&`.
"""


def chain(symbol: str, operands: Iterable[Node]) -> Node:
    """Join operands by an operator, left-associatively."""
    return reduce(lambda left, right: Operation(symbol, (left, right)), operands)


def product(*factors: Node) -> Node:
    """Multiply; all numbers among the factors become one number, at the end."""
    known, others = 1, list[Node]()
    for factor in _factors(*factors):
        if isinstance(factor, Number):
            known *= factor.value
        else:
            others.append(factor)
    if not known or not others:
        return Number(known)
    return chain("*", [*others, *([Number(known)] if known != 1 else [])])


def _factors(*nodes: Node) -> Iterator[Node]:
    for node in nodes:
        if isinstance(node, Operation) and node.operator == "*":
            yield from _factors(*node.operands)
        else:
            yield node


def evaluate(node: Node, values: Mapping[str, int]) -> int:
    """Return the value of an expression of whole numbers, exact for any size.

    Raises:
        KeyError: when a name has no value.
    """
    if isinstance(node, Name):
        return values[node.text]
    if isinstance(node, Operation):
        operands = [evaluate(operand, values) for operand in node.operands]
        return int(OPERATORS[node.operator](*operands))
    return int(node.value)


def leaves(node: Node) -> Iterator[Number | Word | Name]:
    """Yield the numbers, words and names of an expression, from left to right."""
    if isinstance(node, Operation):
        for operand in node.operands:
            yield from leaves(operand)
    else:
        yield node


def names(node: Node) -> frozenset[str]:
    """Return the names that an expression depends on."""
    return frozenset(leaf.text for leaf in leaves(node) if isinstance(leaf, Name))


def substitute(node: Node, replacements: Mapping[str, Node]) -> Node:
    """Replace every name in `replacements` by its tree."""
    return replaced(node, {Name(name): tree for name, tree in replacements.items()})


def replaced(node: Node, replacements: Mapping[Node, Node]) -> Node:
    """Replace every part of an expression that is in `replacements`, the largest parts first."""
    if node in replacements:
        return replacements[node]
    if isinstance(node, Operation):
        operands = tuple(replaced(operand, replacements) for operand in node.operands)
        return Operation(node.operator, operands)
    return node


def known_parts(node: Node, known: frozenset[str]) -> Iterator[Node]:
    """Yield the largest parts of an expression that have names, all of them known."""
    needed = names(node)
    if needed and needed <= known:
        yield node
    elif isinstance(node, Operation):
        for operand in node.operands:
            yield from known_parts(operand, known)


def evaluator(node: Node, slots: Mapping[Node, int]) -> Evaluator:
    """Compile a tree into a function of a row of values.

    Args:
        node: the expression.
        slots: the places in the row of parts that are already computed; all names of the
            expression must be inside such parts.
    """
    return compiled(node, slots, OPERATORS)


def compiled(
    node: Node, slots: Mapping[Node, int], operators: Mapping[str, Callable[..., Any]]
) -> Callable[[Sequence[Any]], Any]:
    """Compile like `evaluator`, with operators for another kind of values."""
    if node in slots:
        return operator.itemgetter(slots[node])
    if isinstance(node, Number | Word):
        value = node.value
        return lambda row: value
    if isinstance(node, Name):
        raise KeyError(node.text)
    apply = operators[node.operator]
    operands = [compiled(operand, slots, operators) for operand in node.operands]
    if len(operands) == 1:
        return lambda row: apply(operands[0](row))
    if len(operands) == 2:
        left, right = operands
        return lambda row: apply(left(row), right(row))
    return lambda row: apply(*[operand(row) for operand in operands])


def slots_of(known: Iterable[str]) -> dict[Node, int]:
    """Return the slots of a row that holds the values of names, in their order."""
    return {Name(name): slot for slot, name in enumerate(known)}
