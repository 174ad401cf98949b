"""Printed expressions have the value of their trees, so brackets are right."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mltune.export.c.text import GEOMETRY_DIALECT
from mltune.export.expression import operators
from mltune.export.json_writer import DIALECT
from mltune.export.rust.rust_writer import SATURATING
from mltune.space.expression import Name, Node, Number, Operation, evaluate, product
from mltune.space.parser import parse

VALUES = {"rows": 7, "columns": 12, "terms": 1}
LEAVES = st.one_of(st.integers(1, 99).map(Number), st.sampled_from(list(VALUES)).map(Name))


def _operations(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    both = st.builds(
        lambda symbol, left, right: Operation(symbol, (left, right)),
        st.sampled_from(["+", "-", "*", "max"]), inner, inner,
    )  # fmt: skip
    divided = st.builds(
        lambda symbol, left, right: Operation(symbol, (left, right)),
        st.sampled_from(["//", "%", "ceil_div"]), inner, st.integers(1, 50).map(Number),
    )  # fmt: skip
    return both | divided


TREES: st.SearchStrategy[Node] = st.recursive(LEAVES, _operations, max_leaves=12)


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(TREES)
def test_what_is_printed_is_read_back_with_the_same_value(tree: Node) -> None:
    assert evaluate(parse(DIALECT.text(tree)), VALUES) == evaluate(tree, VALUES)


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(st.lists(LEAVES, min_size=1, max_size=5))
def test_products_gather_their_numbers(factors: list[Node]) -> None:
    tree = product(*factors)
    known = [leaf for leaf in _leaves(tree) if isinstance(leaf, Number)]
    value = 1
    for factor in factors:
        value *= evaluate(factor, VALUES)

    assert evaluate(tree, VALUES) == value
    assert len(known) <= 1


def _leaves(node: Node) -> list[Node]:
    if isinstance(node, Operation):
        return [leaf for operand in node.operands for leaf in _leaves(operand)]
    return [node]


def test_a_value_is_exact_beyond_64_bits_and_a_name_must_be_known() -> None:
    tree = product(Name("rows"), Number(2**70))

    assert evaluate(tree, VALUES) == 7 * 2**70
    with pytest.raises(KeyError, match="other"):
        evaluate(Name("other"), VALUES)


def test_languages_of_64_bits_hold_products_at_their_largest_number() -> None:
    covering = Operation("ceil_div", (Name("i"), Number(64)))
    tree = Operation("+", (product(covering, Number(128)), Name("z")))
    names = {"i": "of->rows", "z": "of->batch"}

    assert operators(tree) == {"ceil_div", "*", "+"}
    assert GEOMETRY_DIALECT.text(tree, names) == (
        "sum(product(cover(of->rows, 64), 128), of->batch)"
    )
    assert SATURATING.text(tree, {"i": "of.rows", "z": "of.batch"}) == (
        "u64::saturating_add(u64::saturating_mul(u64::div_ceil(of.rows, 64), 128), of.batch)"
    )
