from __future__ import annotations

from itertools import product

import pytest

from mltune.compat.tensile.complete import complete, possible_values
from mltune.compat.tensile.keys import joined_value, parameter_names, read_value
from mltune.compat.tensile.protocol import Choice
from mltune.errors import UsageError
from mltune.kernel.families import FAMILIES
from mltune.problem import Precision, gemm
from mltune.space.config import Config, Value
from mltune.space.yaml_document import parse_document


def settings(name: str, value: str) -> dict[str, Value]:
    return dict(read_value(name, parse_document(value, "t.yaml")))


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("WorkGroup", "[16, 8, 2]", {"work_group_0": 16, "work_group_1": 8, "local_split_u": 2}),
        ("ThreadTile", "[6, 4]", {"thread_tile_0": 6, "thread_tile_1": 4}),
        ("PrefetchGlobalRead", "True", {"prefetch_global_read": 1}),
        ("PrefetchLocalRead", "0", {"prefetch_local_read": 0}),
        ("1LDSBuffer", "1", {"local_buffers": 1}),
        ("MACInstruction", "MAD", {"multiply_add": "mad"}),
        ("DirectToVgprB", "True", {"direct_to_registers_b": 1}),
        ("DirectToLds", "True", {"global_to_local": "async"}),
        ("GlobalReadVectorWidth", "-1", {"global_read_vector_width": 0}),
        ("GlobalSplitU", "4", {"global_split_u": 4}),
        ("GlobalSplitUAlgorithm", "SingleBuffer", {"global_split_u_algorithm": "single"}),
        (
            "GlobalSplitUAlgorithm",
            "MultipleBufferSingleKernel",
            {"global_split_u_algorithm": "multiple_single_kernel"},
        ),
        (
            "GlobalSplitUWorkGroupMappingRoundRobin",
            "True",
            {"global_split_u_work_group_mapping_round_robin": 1},
        ),
        ("PersistentKernel", "2", {"persistent_kernel": 2}),
        ("StreamK", "1", {"stream_k": 1}),
        ("StaggerU", "32", {"stagger_u": 32}),
        ("StaggerUMapping", "3", {"stagger_u_mapping": 3}),
        ("EdgeType", "Branch", {"edge_type": "branch"}),
        ("EdgeType", "ShiftPtr", {"edge_type": "shiftptr"}),
        ("EdgeType", "None", {"edge_type": "none"}),
        ("edge_type", "remainder", {"edge_type": "remainder"}),
        ("multiply_add", "expr", {"multiply_add": "expr"}),
        ("depth_u", "-1", {"depth_u": -1}),
    ],
)
def test_tensiles_keys_set_our_parameters(
    name: str, value: str, expected: dict[str, Value]
) -> None:
    assert settings(name, value) == expected


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (
            "InnerUnroll",
            "4",
            "t.yaml:1: InnerUnroll: 4 is not supported: LoopUnroll says",
        ),
        ("StreamK", "2", "StreamK: True or False, got '2'"),
        ("StaggerU", "-1", "StaggerU: -1 is not supported: whole numbers of at least 0"),
        ("GlobalSplitU", "0", "GlobalSplitU: 0 is not supported: whole numbers of at least 1"),
        ("EdgeType", "Bend", "EdgeType: 'Bend' is not supported (known: Branch, ShiftPtr, None)"),
        ("MatrixInstruction", "[]", "MatrixInstruction is not supported: it has no counterpart"),
        ("AssertCEqualsD", "True", "AssertCEqualsD is not supported: it has no counterpart"),
        ("ThreadTyle", "[4, 4]", "unknown parameter 'ThreadTyle' (did you mean 'ThreadTile'?"),
        ("ThreadTile", "[4]", "ThreadTile: 2 numbers of at least 1, got [4]"),
        ("ThreadTile", "[4, 0]", "ThreadTile: 2 numbers of at least 1, got [4, 0]"),
        ("ThreadTile", "[x, 4]", "ThreadTile: 2 numbers of at least 1, got ['x', 4]"),
        ("DepthU", "x", "DepthU: x is not supported: whole numbers of at least 1, or -1"),
        ("work_group_mapping", "-1", "t.yaml:1: work_group_mapping must be at least 1, got -1"),
        ("DepthU", "0", "DepthU: 0 is not supported: whole numbers of at least 1, or -1"),
        ("PrefetchGlobalRead", "2", "PrefetchGlobalRead: True or False, got '2'"),
        ("MACInstruction", "MUL", "MACInstruction: 'MUL' is not supported (known: FMA, MAD)"),
        ("multiply_add", "fmaa", "t.yaml:1: multiply_add must be expr or fma or mad, got 'fmaa'"),
        ("local_buffers", "9", "t.yaml:1: local_buffers must be 1, 2, 3 or 4, got 9"),
        ("loop_unroll", "two", "t.yaml:1: loop_unroll must be at least 1, or -1, got 'two'"),
    ],
)
def test_what_is_not_supported_is_named_with_its_line(name: str, value: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        settings(name, value)

    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_kernel_of_nothing_but_defaults_is_tensiles_default() -> None:
    kernel = FAMILIES["tiled"].generate(gemm(Precision.SINGLE), complete({}))

    assert kernel.macro_tile == (64, 64)
    assert kernel.work_group == (16, 16, 1)


def test_what_is_given_stays_as_it_is() -> None:
    given = {"depth_u": 24, "loop_unroll": 1, "vector_width": 1, "prefetch_local_read": 1}

    assert complete(given).items() >= given.items()
    assert complete({})["work_group_mapping"] == 8  # Tensile's default


def test_what_is_left_open_follows_from_the_rest() -> None:
    assert complete({"loop_unroll": 8, "local_split_u": 4})["depth_u"] == 32
    assert complete({"thread_tile_0": 6, "thread_tile_1": 4})["vector_width"] == 2
    assert complete({"thread_tile_0": 3, "thread_tile_1": 3})["vector_width"] == 1
    assert complete({"depth_u": 8, "local_split_u": 4})["loop_unroll"] == 2
    assert complete({"depth_u": 8, "local_split_u": 8})["prefetch_local_read"] == 0
    assert complete({"local_buffers": 2, "prefetch_global_read": 0})["local_buffers"] == 1


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"global_to_local": "async"}, {"prefetch_global_read": 0, "local_buffers": 2}),
        ({"global_to_local": "async", "local_buffers": 3}, {"local_buffers": 3}),
        ({"global_to_local": "async", "local_buffers": 1}, {"local_buffers": 2}),
        ({"local_buffers": 2}, {"local_buffers": 2, "prefetch_global_read": 1}),
        ({"stream_k": 1}, {"persistent_kernel": 1}),
        ({"stream_k": 1, "persistent_kernel": 2}, {"persistent_kernel": 2}),
        ({"local_pad": 3, "local_pad_b": -1}, {"local_pad_b": 3}),
        ({"local_pad": 3, "local_pad_b": 1}, {"local_pad_b": 1}),
        ({"loop_unroll": 8}, {"depth_u": 8, "prefetch_local_read": 1}),
        ({"loop_unroll": 3}, {"depth_u": 3, "prefetch_local_read": 0}),
    ],
)
def test_what_belongs_together_is_set_together(
    given: dict[str, Value], expected: dict[str, Value]
) -> None:
    config = complete(given)

    assert {name: config[name] for name in expected} == expected


def test_the_values_of_a_space_include_those_of_all_completed_kernels() -> None:
    given: dict[str, tuple[Value, ...]] = {
        "loop_unroll": (8, -1), "local_split_u": (1, 8), "depth_u": (-1, 8, 24),
        "thread_tile_0": (6, 3), "vector_width": (-1,), "prefetch_local_read": (-1,),
        "global_to_local": ("registers", "async"), "local_buffers": (1, 3), "stream_k": (0, 1),
        "persistent_kernel": (0, 2), "local_pad": (0, 2), "local_pad_b": (-1, 5),
    }  # fmt: skip
    choices = [
        Choice(name, tuple(Config.of({name: value}) for value in values))
        for name, values in given.items()
    ]

    possible = possible_values(choices)

    for values in product(*given.values()):
        config = complete(dict(zip(given, values, strict=True)))
        assert config.keys() <= possible.keys()
        assert [name for name, value in config.items() if value not in possible[name]] == []
    assert not any(-1 in values for values in possible.values())


def test_a_macro_tile_is_joined_by_its_extents() -> None:
    config = Config.of({**complete({}), "thread_tile_0": 2})

    assert joined_value("MacroTile", config) == (32, 64)
    assert joined_value("WorkGroup", config) == (16, 16, 1)
    assert joined_value("thread_tile_0", config) == (2,)
    with pytest.raises(UsageError, match="unknown parameter 'MacroTyle'"):
        joined_value("MacroTyle", config)


def test_every_name_that_is_offered_is_known() -> None:
    assert len(parameter_names()) == len(set(parameter_names()))
