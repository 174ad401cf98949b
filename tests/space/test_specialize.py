from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mltune.space.domain import Domain, EnumDomain, IntDomain
from mltune.space.expression import evaluator, slots_of
from mltune.space.parser import parse
from mltune.space.specialize import specialize, to_text

SCOPE: dict[str, Domain] = {
    "a": IntDomain(1, 4),
    "b": IntDomain(0, 3),
    "one": IntDomain(1, 1),
    "no": IntDomain(0, 0),
    "way": EnumDomain(("cast", "vload")),
    "fixed": EnumDomain(("cast",)),
}
TEXTS = (
    "a % one == 0",
    "a + b * 2 <= 3 or not (b == no)",
    "(a + b) * 2 - (a - b) > max(a, b, no) and way == 'cast'",
    "a // one // (b + 1) % 3 == min(a, ceil_div(b, a))",
    "way != 'vload' or fixed == 'cast' and a < b",
    "fixed == 'other' or a == b",
    "-a < -(b - 2) and (a == 1 or b == 1)",
    "not (a > 1 and b > 1) or a - (b - 1) - 1 == 2",
)


@pytest.mark.parametrize("text", TEXTS)
def test_what_is_written_reads_back_to_the_same_tree(text: str) -> None:
    assert parse(to_text(parse(text))) == parse(text)


@given(
    st.sampled_from(TEXTS[:5] + TEXTS[6:]),
    st.integers(1, 4),
    st.integers(0, 3),
    st.sampled_from(["cast", "vload"]),
)
def test_what_is_left_has_the_same_value(text: str, a: int, b: int, way: str) -> None:
    slots = slots_of(SCOPE)
    row = (a, b, 1, 0, way, "cast")
    rest = specialize(parse(text), SCOPE)
    value = rest if isinstance(rest, bool) else evaluator(rest, slots)(row)

    assert value == evaluator(parse(text), slots)(row)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a % one == 0", True),
        ("b <= 3", True),
        ("b < 3", "b < 3"),
        ("b <= no", "b <= 0"),
        ("b > 3 or way == 'cast'", 'way == "cast"'),
        ("fixed == 'other'", False),
        ("fixed != 'other' and a // one > no", True),
        ("way != 'third' or a > 1", True),
        ("b < 1 and fixed == 'cast'", "b < 1"),
        ("not (a >= 1) or not b < 1", "not b < 1"),
        ("not fixed == 'cast'", False),
        ("a // one < one * 2 + no", "a < 2"),
        ("max(a, one, 2) * one + no >= a", "max(a, 1, 2) + 0 >= a"),
    ],
)
def test_what_is_decided_goes(text: str, left: str | bool) -> None:
    rest = specialize(parse(text), SCOPE)

    assert (rest if isinstance(rest, bool) else to_text(rest)) == left
