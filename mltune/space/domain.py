"""The possible values of an expression: a range of numbers, some words, or true and false.

Inferring them from the domains of the names finds every mistake before the first config is tried:
unknown names, words among numbers, words that a parameter never has, divisors that can be 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from mltune.errors import UsageError
from mltune.space.expression import OPERATORS, Name, Node, Number, Operation, Word
from mltune.unknown import unknown


@dataclass(frozen=True, slots=True)
class IntDomain:
    """Whole numbers from `low` to `high`."""

    low: int
    high: int


@dataclass(frozen=True, slots=True)
class EnumDomain:
    """Some words."""

    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Condition:
    """True or false."""


Domain = IntDomain | EnumDomain | Condition

_LARGE = 2**62
"""A little less than the limit of 64 bits, as division that rounds up negates its operands."""

_DESCRIPTIONS = {IntDomain: "a number", EnumDomain: "a word", Condition: "a condition"}


def describe(domain: Domain) -> str:
    """Return the name of a kind of value for a sentence."""
    return _DESCRIPTIONS[type(domain)]


def infer(node: Node, scope: Mapping[str, Domain]) -> Domain:
    """Infer the domain of an expression from those of its names.

    Raises:
        UsageError: with the rule that the expression breaks.
    """
    match node:
        case Number(value):
            return IntDomain(value, value)
        case Word(text):
            return EnumDomain((text,))
        case Name(text):
            if text not in scope:
                raise UsageError(unknown("name", text, scope))
            return scope[text]
        case Operation(symbol, operands):
            domains = [infer(operand, scope) for operand in operands]
            if symbol in ("and", "or", "not"):
                _require(Condition, symbol, domains)
                return Condition()
            if symbol in ("==", "!=") and isinstance(domains[0], EnumDomain):
                _compare_words(symbol, domains)
                return Condition()
            _require(IntDomain, symbol, domains)
            numbers = [domain for domain in domains if isinstance(domain, IntDomain)]
            if symbol in ("==", "!=", "<", "<=", ">", ">="):
                return Condition()
            return _range(symbol, numbers)


def fits_in_64_bits(node: Node, scope: Mapping[str, Domain]) -> bool:
    """Whether all values of an expression, intermediate ones included, fit into 64 bits.

    Raises:
        UsageError: with the rule that the expression breaks.
    """
    domain = infer(node, scope)
    if isinstance(domain, IntDomain) and max(-domain.low, domain.high) > _LARGE:
        return False
    operands = node.operands if isinstance(node, Operation) else ()
    return all(fits_in_64_bits(operand, scope) for operand in operands)


def _require(kind: type[Domain], symbol: str, domains: Iterable[Domain]) -> None:
    for domain in domains:
        if not isinstance(domain, kind):
            raise UsageError(f"{_sign(symbol)} takes {_DESCRIPTIONS[kind]}, got {_told(domain)}")


def _sign(symbol: str) -> str:
    return "'-'" if symbol == "negate" else f"'{symbol}'"


def _told(domain: Domain) -> str:
    if isinstance(domain, EnumDomain) and len(domain.values) == 1:
        return f"the word '{domain.values[0]}'"
    return describe(domain)


def _compare_words(symbol: str, domains: list[Domain]) -> None:
    _require(EnumDomain, symbol, domains)
    left, right = (set(domain.values) for domain in domains if isinstance(domain, EnumDomain))
    if left.isdisjoint(right):
        # One side is a literal (or both are): a word that the other side never has is a
        # misspelling.
        literal, values = sorted((left, right), key=len)
        raise UsageError(unknown("word", min(literal), values))


def _range(symbol: str, domains: list[IntDomain]) -> IntDomain:
    """Return the smallest and the largest value of an arithmetic operation."""
    if symbol in ("//", "%", "ceil_div"):
        divisor = domains[1]
        if divisor.low <= 0 <= divisor.high:
            raise UsageError(f"the divisor of {_sign(symbol)} can be 0")
        if symbol == "%":
            # The remainder has the sign of the divisor, as in Python.
            return IntDomain(min(divisor.low + 1, 0), max(divisor.high - 1, 0))
    apply = OPERATORS[symbol]
    if len(domains) == 1:
        ends = [apply(end) for end in (domains[0].low, domains[0].high)]
    elif symbol in ("min", "max"):
        ends = [apply(d.low for d in domains), apply(d.high for d in domains)]
    else:
        # The operation is monotonic in each operand, so the extremes are at the corners.
        left, right = domains
        ends = [apply(a, b) for a in (left.low, left.high) for b in (right.low, right.high)]
    whole = [int(end) for end in ends]
    return IntDomain(min(whole), max(whole))
