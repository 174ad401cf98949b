from __future__ import annotations

import pytest

from mltune.errors import UsageError
from mltune.space.expression import MAX_TERMS
from mltune.space.parser import parse


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("a < 1 or b < 1 and c < 1", "(a < 1) or ((b < 1) and (c < 1))"),
        ("not a < 1 and b - c - 1 < 1", "(not (a < 1)) and (((b - c) - 1) < 1)"),
    ],
)
def test_operators_bind_as_in_python(text: str, whole: str) -> None:
    assert parse(text) == parse(whole)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "column 1: expected a number, a name or '(', got the end"),
        ("a +", "column 4: expected a number, a name or '(', got the end"),
        ("a + * b", "column 5: expected a number, a name or '(', got '*'"),
        ("(a + b", "column 7: expected ')', got the end"),
        ("a b", "column 3: expected an operator or the end, got 'b'"),
        ("a)", "column 2: expected an operator or the end, got ')'"),
        ("a < b < c", "column 7: expected 'and': comparisons cannot be chained, got '<'"),
        ("a / b", "column 3: unexpected character '/'; whole numbers divide with //"),
        ("a = b", "column 3: unexpected character '='; compare with =="),
        ("a || b", "column 3: unexpected character '|'; write or"),
        ("!a", "column 1: unexpected character '!'; write not, or !="),
        ("a && b", "column 3: unexpected character '&'; write and"),
        ("1.5 * a", "column 2: unexpected character '.'; numbers are whole"),
        ('a == "open', "column 6: unexpected character '\"'"),
        ("min(a)", "column 6: expected two or more arguments for min, got ')'"),
        ("ceil_div(a, b, c)", "column 17: expected two arguments for ceil_div, got ')'"),
        ("min(, a)", "column 5: expected a number, a name or '(', got ','"),
        ("1" * 19, "column 1: a number has at most 18 digits"),
        ("min a", "column 5: expected '(', got 'a'"),
        ("a ** b", "column 4: expected a number, a name or '(', got '*'"),
        ("__import__('os')", "column 11: expected an operator or the end, got '('"),
        ("a" + " + a" * MAX_TERMS, f"column 801: expected at most {MAX_TERMS} terms, got 'a'"),
        ("(" * 9000, f"column 201: expected at most {MAX_TERMS} terms, got '('"),
        ("-" * 9000 + "1", f"column 201: expected at most {MAX_TERMS} terms, got '-'"),
    ],
)
def test_refuses_with_the_column(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(text)

    assert str(caught.value) == message
