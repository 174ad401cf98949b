from __future__ import annotations

import pytest

from mltune.errors import UsageError
from mltune.space.config import Value
from mltune.space.domain import IntDomain
from mltune.space.parameter import Parameter


def test_numbers_are_kept_in_ascending_order() -> None:
    parameter = Parameter("x", (8, 2, 4))

    assert parameter.values == (2, 4, 8)
    assert parameter.domain == IntDomain(2, 8)


def test_words_are_kept_as_given() -> None:
    assert Parameter("x", ("mad", "expr")).values == ("mad", "expr")


def test_numbers_are_as_many_steps_apart_as_there_are_values_between() -> None:
    assert Parameter("x", (1, 2, 4, 8)).distances(2) == (1, 0, 1, 2)


def test_words_are_one_apart() -> None:
    assert Parameter("x", ("a", "b", "c")).distances("b") == (1, 0, 1)


@pytest.mark.parametrize(
    ("values", "rule"),
    [
        ((), "needs at least one value"),
        ((1, 2, 1), "value 1 stands twice"),
        ((1, "a"), "values must be all numbers or all words, got 1, a"),
        (("1.5",), "'1.5' is neither a whole number nor a word"),
        (("",), "'' is neither a whole number nor a word"),
        ((True,), "True is neither a whole number nor a word"),
    ],
)
def test_refuses_bad_values(values: tuple[Value, ...], rule: str) -> None:
    with pytest.raises(UsageError) as caught:
        Parameter("x", values, where="f.yaml:3")

    assert str(caught.value) == f"f.yaml:3: parameter 'x': {rule}"
