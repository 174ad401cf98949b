from __future__ import annotations

import pytest

from mltune.errors import UsageError
from mltune.space.domain import Condition, Domain, EnumDomain, IntDomain, fits_in_64_bits, infer
from mltune.space.parser import parse

SCOPE: dict[str, Domain] = {
    "tile_k": IntDomain(4, 8),
    "zero": IntDomain(0, 1),
    "access": EnumDomain(("cast", "vload")),
}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "tile_q * 2",
            "unknown name 'tile_q' (did you mean 'tile_k'? known: access, tile_k, zero)",
        ),
        ("qq", "unknown name 'qq' (known: access, tile_k, zero)"),
        ('access == "vloat"', "unknown word 'vloat' (did you mean 'vload'? known: cast, vload)"),
        ("access == 1", "'==' takes a word, got a number"),
        ('tile_k != "cast"', "'!=' takes a number, got the word 'cast'"),
        ("access + 1", "'+' takes a number, got a word"),
        ('-"x"', "'-' takes a number, got the word 'x'"),
        ("tile_k and zero == 1", "'and' takes a condition, got a number"),
        ("not tile_k", "'not' takes a condition, got a number"),
        ("(tile_k > 1) + 1", "'+' takes a number, got a condition"),
        ("tile_k // zero", "the divisor of '//' can be 0"),
        ("tile_k // -zero", "the divisor of '//' can be 0"),
        ("tile_k % (tile_k - 5)", "the divisor of '%' can be 0"),
        ("ceil_div(1, zero)", "the divisor of 'ceil_div' can be 0"),
    ],
)
def test_refuses_what_cannot_be_evaluated(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        infer(parse(text), SCOPE)

    assert str(caught.value) == message


def test_infers_kinds() -> None:
    assert infer(parse("tile_k + 1"), SCOPE) == IntDomain(5, 9)
    assert infer(parse("tile_k % 3"), SCOPE) == IntDomain(0, 2)
    assert infer(parse("tile_k % -3"), SCOPE) == IntDomain(-2, 0)
    assert infer(parse("min(tile_k, 7, zero + 5)"), SCOPE) == IntDomain(4, 6)
    assert infer(parse("access"), SCOPE) == EnumDomain(("cast", "vload"))
    assert infer(parse('access == "cast" or tile_k < 5'), SCOPE) == Condition()


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("tile_k * 2", True),
        ("access == 'cast' and tile_k < 5", True),
        ("tile_k * 900000000000000000 > 5", False),
        ("tile_k * 900000000000000000 // 900000000000000000", False),
        ("-900000000000000000 * tile_k < 0 or zero == 1", False),
    ],
)
def test_finds_numbers_beyond_64_bits_on_the_way(text: str, fits: bool) -> None:
    assert fits_in_64_bits(parse(text), SCOPE) is fits
