from __future__ import annotations

import pytest

from mltune.errors import UsageError
from mltune.space.config import Value
from mltune.space.parameter import Parameter


def test_numbers_are_kept_in_ascending_order() -> None:
    assert Parameter("x", (8, 2, 4)).values == (2, 4, 8)


def test_words_are_kept_as_given() -> None:
    assert Parameter("x", ("mad", "expr")).values == ("mad", "expr")


def test_neighbours_of_a_number_are_the_next_ones() -> None:
    parameter = Parameter("x", (1, 2, 4, 8))

    assert [parameter.neighbours(v) for v in (1, 4, 8)] == [(2,), (2, 8), (4,)]
    assert parameter.distances(2) == (1, 0, 1, 2)


def test_neighbours_of_a_word_are_all_others() -> None:
    parameter = Parameter("x", ("a", "b", "c"))

    assert parameter.neighbours("b") == ("a", "c")
    assert parameter.distances("b") == (1, 0, 1)


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
