"""The declarations of the families' parameters."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import product

import pytest

from mltune.errors import UnsupportedError, UsageError
from mltune.kernel.families import FAMILIES
from mltune.kernel.parameters import DECLARED
from mltune.kernel.parameters.param import IntParam, Limit
from mltune.kernel.parameters.tiled import TILED
from mltune.problem import Precision, gemm
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


ASYNC: dict[str, int | str] = {"global_to_local": "async", "local_buffers": 2}
TILE = {"work_group_0": 4, "work_group_1": 4, "thread_tile_0": 8, "thread_tile_1": 8}
MMA_TILE = {"waves_0": 2, "waves_1": 2, "wave_tile_0": 32, "wave_tile_1": 32, "depth_u": 32}
WGMMA_TILE = {
    "warp_groups_0": 1,
    "warp_groups_1": 1,
    "warp_group_tile_0": 64,
    "warp_group_tile_1": 64,
}
WGMMA_DEPTHS: tuple[dict[str, int | str], ...] = (
    {"depth_u": 32, "partial_sum_terms": 32},
    {"depth_u": 32, "partial_sum_terms": 32, "global_split_u": 2},
    {"depth_u": 32, "partial_sum_terms": 32, "split_into": "half"},
    {"depth_u": 64},
    {"depth_u": 64, "warp_group_tile_0": 72},
)
PANELS = {"panels_0": 2, "panels_1": 4, "thread_tile_0": 8, "thread_tile_1": 4, "depth_u": 64}
REGISTERS: dict[str, int | str] = {
    **TILE,
    "depth_u": 8,
    "vector_width": 4,
    "multiply_add": "expr",
    "vector_access": "cast",
}
CONFIGS: dict[str, list[dict[str, int | str]]] = {
    "tiled": [
        {**GOOD, **more}
        for more in (
            {},
            ASYNC,
            {"global_split_u": 2},
            {"stagger_u": 4},
            {"persistent_kernel": 1},
            {"prefetch_global_read": 1, "local_buffers": 2},
            {"wave_lanes_0": 4, "wave_lanes_1": 8},
        )
    ],
    "direct": [
        {**REGISTERS, "work_group_mapping": 8},
        {**REGISTERS, "work_group_mapping": 8, "work_group_0": 8, "depth_u": 8},
    ],
    "small": [
        {**REGISTERS, "local_split_u": 2, "problems": 1, **more}
        for more in ({}, {"vector_width_u": 1})
    ],
    "mma": [
        {**MMA_TILE, "local_buffers": 3, "work_group_mapping": 8, **more}
        for more in ({}, {"global_split_u": 2})
    ],
    "wgmma": [
        {**WGMMA_TILE, "local_buffers": 3, "work_group_mapping": 8, **more}
        for more in WGMMA_DEPTHS
    ],
    "packed": [
        {**PANELS, "vector_width": 8, "loop_unroll": 2, "multiply_add": "expr", "pack_b": 1}
    ],
}


@cache
def _kernel(family: str, config: Config, precision: Precision, transposes: str) -> object:
    """What is built and launched, without the name; None if the config is refused."""
    try:
        kernel = FAMILIES[family].generate(gemm(precision, *transposes), config)
    except UsageError:
        return None
    source = kernel.source.replace(kernel.name, "")
    return source, kernel.build_options, kernel.work_group, kernel.limits, kernel.groups_per_unit


@pytest.mark.parametrize(
    ("family", "name"), [(each.family, p.name) for each in DECLARED.values() for p in each.params]
)
def test_every_declared_parameter_changes_the_kernel(family: str, name: str) -> None:
    param = DECLARED[family].by_name[name]
    values = param.values or (1, 2, 4, 8, 16, 64, 512)

    assert any(
        kernel != _kernel(family, Config.of(config), *kind)
        for config in CONFIGS[family]
        for value in values
        for kind in product((Precision.SINGLE, Precision.HALF, Precision.DOUBLE), ("tn", "nt"))
        if (kernel := _kernel(family, Config.of({**config, name: value}), *kind)) is not None
    )


def test_every_family_declares_its_parameters() -> None:
    assert set(DECLARED) == set(FAMILIES)


@pytest.mark.parametrize("family", DECLARED)
def test_defaults_are_values_and_words_are_unambiguous(family: str) -> None:
    for param in DECLARED[family].params:
        left_out = param.name == "local_pad_b"  # -1 means the pad of A
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
