"""Parsing, inferring and evaluating together, compared with Python."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mltune.errors import UsageError
from mltune.space.columns import COLUMN_OPERATORS, LARGE_COLUMN_OPERATORS, ColumnOperators
from mltune.space.domain import IntDomain, infer
from mltune.space.expression import (
    Name,
    Number,
    Operation,
    compiled,
    evaluator,
    known_parts,
    names,
    slots_of,
    substitute,
)
from mltune.space.parser import parse

NAMES = ("a", "b", "c")
NODES = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
COMPARISONS: dict[type, Callable[[int, int], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def python_value(node: ast.expr, values: dict[str, int]) -> int:
    """The value of the same text in Python."""
    match node:
        case ast.Constant(int(value)):
            return value
        case ast.Name(name):
            return values[name]
        case ast.BinOp(left, op, right):
            return int(NODES[type(op)](python_value(left, values), python_value(right, values)))
        case ast.UnaryOp(ast.USub(), operand):
            return -python_value(operand, values)
        case ast.UnaryOp(ast.Not(), operand):
            return not python_value(operand, values)
        case ast.BoolOp(op, operands):
            results = [python_value(operand, values) for operand in operands]
            return (all if isinstance(op, ast.And) else any)(results)
        case ast.Compare(left, [op], [right]):
            compare = COMPARISONS[type(op)]
            return compare(python_value(left, values), python_value(right, values))
        case ast.Call(ast.Name(("min" | "max") as name), operands):
            results = [python_value(operand, values) for operand in operands]
            return (min if name == "min" else max)(results)
        case ast.Call(ast.Name("ceil_div"), [left, right]):
            return -(-python_value(left, values) // python_value(right, values))
    raise AssertionError(ast.dump(node))


def arithmetic() -> st.SearchStrategy[str]:
    leaf = st.sampled_from(NAMES) | st.integers(0, 20).map(str)
    divisor = st.integers(1, 9).map(str) | st.sampled_from(("(a * a + 1)", "max(1, b)", "-3"))

    def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return st.one_of(
            st.tuples(inner, st.sampled_from((" + ", "-", "*")), inner).map("".join),
            st.tuples(inner, st.sampled_from(("//", " % ")), divisor).map("".join),
            inner.map("({})".format),
            inner.map("-{}".format),
            st.tuples(st.sampled_from(("min", "max")), inner, inner).map(
                "{0[0]}({0[1]}, {0[2]})".format
            ),
            st.tuples(inner, divisor).map("ceil_div({0[0]}, {0[1]})".format),
        )

    return st.recursive(leaf, larger, max_leaves=12)


def conditions() -> st.SearchStrategy[str]:
    symbols = st.sampled_from((" == ", "!=", "<", " <= ", ">", ">="))
    leaf = st.tuples(arithmetic(), symbols, arithmetic()).map("".join)

    def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return st.one_of(
            st.tuples(inner, st.sampled_from((" and ", " or ")), inner).map("".join),
            inner.map("({})".format),
            inner.map("not {}".format),
        )

    return st.recursive(leaf, larger, max_leaves=5)


VALUES = st.tuples(*[st.integers(-5, 30)] * len(NAMES))


@given(arithmetic() | conditions(), VALUES)
def test_means_what_python_means(text: str, values: tuple[int, ...]) -> None:
    scope = dict(zip(NAMES, values, strict=True))
    tree = parse(text)
    try:
        expected = python_value(ast.parse(text, mode="eval").body, scope)
    except ZeroDivisionError:
        with pytest.raises(UsageError, match="can be 0"):
            infer(tree, {name: IntDomain(value, value) for name, value in scope.items()})
        return

    assert evaluator(tree, slots_of(NAMES))(values) == expected


@pytest.mark.parametrize("operators", [COLUMN_OPERATORS, LARGE_COLUMN_OPERATORS])
@given(arithmetic() | conditions(), st.lists(VALUES, min_size=1, max_size=5))
def test_means_the_same_of_columns(
    operators: ColumnOperators, text: str, rows: list[tuple[int, ...]]
) -> None:
    tree = parse(text)
    try:
        expected = [evaluator(tree, slots_of(NAMES))(row) for row in rows]
    except ZeroDivisionError:
        return
    computed = compiled(tree, slots_of(NAMES), operators)(list(np.array(rows).T))

    assert np.broadcast_to(computed, len(rows)).tolist() == expected


@given(arithmetic(), VALUES, VALUES)
def test_range_holds_every_value(text: str, low: tuple[int, ...], span: tuple[int, ...]) -> None:
    tree = parse(text)
    ranges = {
        name: IntDomain(start, start + abs(length))
        for name, start, length in zip(NAMES, low, span, strict=True)
    }
    try:
        domain = infer(tree, ranges)
    except UsageError:
        return
    assert isinstance(domain, IntDomain)
    compute = evaluator(tree, slots_of(NAMES))
    for place in (0.0, 0.3, 0.5, 1.0):
        row = [r.low + round(place * (r.high - r.low)) for r in ranges.values()]
        assert domain.low <= int(compute(row)) <= domain.high


@given(arithmetic(), VALUES)
def test_known_parts_are_all_that_the_rest_needs(text: str, values: tuple[int, ...]) -> None:
    tree = parse(text)
    parts = list(dict.fromkeys(known_parts(tree, frozenset("ab"))))
    try:
        infer(tree, {name: IntDomain(v, v) for name, v in zip(NAMES, values, strict=True)})
    except UsageError:
        return
    whole = slots_of(NAMES)
    row = [*(evaluator(part, whole)(values) for part in parts), values[2]]
    slots = {**{part: slot for slot, part in enumerate(parts)}, Name("c"): len(parts)}

    assert evaluator(tree, slots)(row) == evaluator(tree, whole)(values)


def test_compares_words() -> None:
    holds = evaluator(parse("access != 'cast'"), slots_of(["access"]))

    assert [holds([word]) for word in ("cast", "vload")] == [False, True]


@pytest.mark.parametrize("operators", [COLUMN_OPERATORS, LARGE_COLUMN_OPERATORS])
def test_compares_columns_of_words(operators: ColumnOperators) -> None:
    holds = compiled(parse("access != 'cast'"), slots_of(["access"]), operators)

    assert holds([np.array(["cast", "vload"])]).tolist() == [False, True]


def test_substitutes_names() -> None:
    tree = substitute(parse("a + b"), {"a": Number(2)})

    assert tree == Operation("+", (Number(2), Name("b")))
    assert names(tree) == {"b"}
