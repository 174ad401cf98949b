"""The declarations of the families' parameters."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mltune.errors import UnsupportedError, UsageError
from mltune.kernel.families import FAMILIES
from mltune.kernel.parameters import DECLARED
from mltune.kernel.parameters.param import IntParam, Limit
from mltune.kernel.parameters.tiled import TILED
from mltune.problem import Precision
from mltune.space import Config

GOOD = Config.of(
    {
        "work_group_0": 8,
        "work_group_1": 8,
        "thread_tile_0": 4,
        "thread_tile_1": 4,
        "depth_u": 16,
        "vector_width": 4,
        "prefetch_global_read": 0,
        "local_pad": 0,
        "loop_unroll": 4,
        "work_group_mapping": 8,
        "multiply_add": "expr",
        "vector_access": "cast",
    }
)


def test_every_family_declares_its_parameters() -> None:
    assert set(DECLARED) == set(FAMILIES)


@pytest.mark.parametrize("family", DECLARED)
def test_defaults_are_values_and_words_are_unambiguous(family: str) -> None:
    for param in DECLARED[family].params:
        left_out = param.name == "local_pad_b"  # -1 stands for the pad of A
        assert param.default is None or left_out or param.accepts(param.default)
        for word, value in param.tensile.words if param.tensile else ():
            assert param.accepts(value), word


def test_a_parameter_has_one_abbreviation_and_an_abbreviation_one_parameter() -> None:
    params = {(p.name, p.abbreviation) for each in DECLARED.values() for p in each.params}
    names = [name for name, _ in params]
    stems = {(name.removesuffix("_0").removesuffix("_1"), short) for name, short in params}

    assert len(names) == len(set(names))
    assert len({short for _, short in stems}) == len(stems)


def test_kinds_do_not_differ_between_families() -> None:
    kinds = {(p.name, isinstance(p, IntParam)) for each in DECLARED.values() for p in each.params}

    assert len({name for name, _ in kinds}) == len(kinds)


def test_what_is_left_out_has_its_default() -> None:
    settings = TILED.read(GOOD, Precision.SINGLE)

    assert settings.number("local_buffers") == 1
    assert settings.word("global_to_local") == "registers"


def test_what_another_precision_takes_is_unsupported() -> None:
    config = Config.of({**GOOD, "global_split_u": 2, "global_split_u_algorithm": "red"})

    TILED.read(config, Precision.SINGLE)
    with pytest.raises(
        UnsupportedError,
        match="global_split_u_algorithm must be multiple or multiple_single_kernel in half, "
        "which has no atomic addition, got 'red'",
    ):
        TILED.read(config, Precision.HALF)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tile_q > 1", "unknown name 'tile_q'"),
        ('edge_type == "jump"', "unknown word 'jump'"),
        ("depth_u // local_pad > 1", "the divisor of '//' can be 0"),
        ("depth_u", "is no condition"),
    ],
)
def test_a_declaration_checks_itself(text: str, words: str) -> None:
    wrong = replace(TILED.params[0], limits=(Limit(text, "larger"),))

    with pytest.raises(UsageError, match=words):
        replace(TILED, params=(wrong, *TILED.params[1:]))
