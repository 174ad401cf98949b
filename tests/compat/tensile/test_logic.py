"""Tensile's library logic."""

from __future__ import annotations

import pytest

from mltune.compat.tensile.logic import Choice, parse_choice, parse_logic
from mltune.compat.tensile.logic_text import logic_text
from mltune.errors import UsageError
from mltune.kernel.families import FAMILIES
from mltune.problem import Size, parse_problem_type, problem_type_name
from mltune.space import Config

TEXT = """\
- {MinimumRequiredVersion: 4.2.0}
- vega10
- gfx900
- [Device 6860]
- {OperationType: GEMM, DataType: 0, TransposeA: false, TransposeB: true, UseBeta: true}
- - {SolutionIndex: 0, WorkGroup: [16, 16, 1], ThreadTile: [4, 8], DepthU: 8, VectorWidth: 4,
     KernelLanguage: Source, ISA: [9, 0, 0], PrefetchGlobalRead: true}
  - {SolutionIndex: 1, WorkGroup: [16, 8, 2], ThreadTile: [4, 4], DepthU: 16, InnerUnroll: 4,
     KernelLanguage: Assembly}
  - {SolutionIndex: 2, MacroTile: 64}
- [2, 3, 0, 1]
- - - [64, 128, 1, 256]
    - [0, 4321.5]
  - - [64, 96, 1, 32, 64, 64, 64, 96]
    - [1, 17.5]
- null
"""


def test_sizes_and_solutions_are_read() -> None:
    logic = parse_logic(TEXT, "logic.yaml")

    assert problem_type_name(logic.contraction) == "sgemm_nt"
    assert logic.sizes == (Size((64, 128, 256)), Size((64, 96, 32)))
    first, second = logic.configs
    assert (first["work_group_0"], first["thread_tile_1"], first["depth_u"]) == (16, 8, 8)
    assert (second["local_split_u"], second["vector_width"]) == (2, 4)


def test_what_has_no_counterpart_is_named() -> None:
    assert parse_logic(TEXT, "logic.yaml").notes == (
        "logic.yaml: not carried over: InnerUnroll: 4 (1 of 3 solutions)",
        "logic.yaml: not carried over: KernelLanguage: 'Assembly' (1 of 3 solutions)",
        "logic.yaml: not carried over: a solution without WorkGroup and ThreadTile "
        "(1 of 3 solutions)",
    )


def test_a_file_may_lack_ranges_and_the_type_of_numbers() -> None:
    short = TEXT.replace("- null\n", "").replace("DataType: 0, ", "")

    assert problem_type_name(parse_logic(short, "logic.yaml").contraction) == "sgemm_nt"
    assert parse_choice(short, "logic.yaml").tree is None


@pytest.mark.parametrize(("number", "compute"), [(0, 0), (4, 4), (4, 0)])
def test_types_that_suit_that_of_the_elements_may_be_named(number: int, compute: int) -> None:
    types = f"DataType: {number}, DestDataType: {number}, ComputeDataType: {compute}"
    text = TEXT.replace("DataType: 0", types)

    name = problem_type_name(parse_logic(text, "logic.yaml").contraction)
    assert name == ("hgemm_nt" if number else "sgemm_nt")


@pytest.mark.parametrize("left_out", [", ThreadTile: [4, 8]", "WorkGroup: [16, 16, 1], "])
def test_a_solution_needs_both_work_group_and_thread_tile(left_out: str) -> None:
    logic = parse_logic(TEXT.replace(left_out, ""), "logic.yaml")

    assert len(logic.configs) == 1
    assert logic.notes[0].endswith("WorkGroup and ThreadTile (2 of 3 solutions)")


def test_logic_may_have_neither_exact_sizes_nor_ranges() -> None:
    before, _ = TEXT.split("- - - [64")
    text = before + "- null\n- null\n"

    assert parse_logic(text, "logic.yaml").sizes == ()
    assert parse_choice(text, "logic.yaml") == Choice((), None)


def test_configs_are_numbered_without_solutions_that_have_no_counterpart() -> None:
    first = "WorkGroup: [16, 16, 1], ThreadTile: [4, 8], "
    choice = parse_choice(TEXT.replace(first, "").replace("[0, 4321.5]", "[1, 9.5]"), "logic.yaml")

    assert [number for _, number in choice.exact] == [0, 0]


@pytest.mark.parametrize(
    ("listed", "extents"),
    [
        ("[64, 128, 256]", (64, 128, 256)),
        ("[64, 128, 256, 64, 64, 64, 256]", (64, 128, 256)),
        ("[64, 128, 9, 256, 64, 64, 64, 256]", (64, 128, 256, 9)),
        ("[64, 128, 9, 256, -1, -1, -1, -1]", (64, 128, 256, 9)),
    ],
)
def test_leading_dimensions_may_follow_the_extents(listed: str, extents: tuple[int, ...]) -> None:
    logic = parse_logic(TEXT.replace("[64, 128, 1, 256]", listed), "logic.yaml")

    assert logic.sizes[0].extents == extents


def test_batches_make_a_batched_problem() -> None:
    logic = parse_logic(TEXT.replace("[64, 128, 1, 256]", "[64, 128, 7, 256]"), "logic.yaml")

    assert problem_type_name(logic.contraction) == "sgemm_nt_batched"
    assert Size((64, 128, 256, 7)) in logic.sizes


WIDE: dict[str, int | str] = {
    "work_group_0": 16, "work_group_1": 8, "thread_tile_0": 8, "thread_tile_1": 6, "depth_u": 12,
    "vector_width": 4, "prefetch_global_read": 1, "local_pad": 2, "loop_unroll": 2,
    "work_group_mapping": 8, "multiply_add": "expr", "vector_access": "vload",
}  # fmt: skip
MORE: list[dict[str, int | str]] = [
    {},
    {"local_buffers": 2, "local_split_u": 2, "prefetch_local_read": 1, "local_pad_b": 5},
    {"local_buffers": 2, "prefetch_local_read": 2, "edge_type": "none"},
    {"multiply_add": "mad", "vector_width_b": 2, "wave_lanes_0": 4, "wave_lanes_1": 8},
    {"global_to_local": "async", "local_buffers": 3, "local_pad": 4, "prefetch_global_read": 0},
    {"vector_access": "cast", "non_temporal_a": 1, "non_temporal_c": 1},
    {"global_split_u": 4, "global_split_u_algorithm": "single"},
    {"global_split_u": 3, "global_split_u_summation_assignment_round_robin": 1},
    {"stagger_u": 32, "stagger_u_mapping": 3, "stagger_u_stride": 64},
    {"persistent_kernel": 2},
    {"persistent_kernel": 1, "stream_k": 1},
    {"prefetch_global_read": 0, "max_registers": 64, "global_read_vector_width": 2},
]


@pytest.mark.parametrize("more", MORE)
def test_what_is_written_reads_back_to_the_same_kernel(more: dict[str, int | str]) -> None:
    contraction = parse_problem_type("sgemm_nt")
    config = Config.of({**WIDE, **more})
    text = logic_text(contraction, [((96, 64, 32), config, 12.5)], "a card")
    back = parse_logic(text, "logic.yaml")

    def source(of: Config) -> str:
        kernel = FAMILIES["tiled"].generate(contraction, of)
        return kernel.source.replace(kernel.name, "")

    assert (back.contraction, back.notes) == (contraction, ())
    assert back.sizes == (Size((96, 64, 32)),)
    assert source(back.configs[0]) == source(config)


@pytest.mark.parametrize(
    ("name", "number"),
    [("sgemm_nn_batched", 0), ("dgemm_tn", 1), ("cgemm_nc", 2), ("zgemm_ct", 3), ("hgemm_nn", 4)],
)
def test_every_column_major_gemm_can_be_written(name: str, number: int) -> None:
    contraction = parse_problem_type(name)
    batch = (3,) if "batched" in name else ()
    text = logic_text(contraction, [((8, 4, 2, *batch), Config.of(WIDE), 1.0)], "a card")

    assert parse_logic(text, "logic.yaml").contraction == contraction
    assert f'"DataType": {number}, ' in text  # Tensile's number
    assert '"UseBeta": true' in text


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("sgemm_nn_row", "is no column-major GEMM"),
        ("Cijk_Aijl_Blk_SB", "is no column-major GEMM"),
        ("sgemm_nn_bias_m_relu", "has an epilogue"),
    ],
)
def test_other_problem_types_are_refused(name: str, words: str) -> None:
    with pytest.raises(UsageError, match=f"library logic: {name} {words}"):
        logic_text(parse_problem_type(name), [((1, 1, 1), Config.of(WIDE), 1.0)], "x")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("- 1\n- 2\n", "library logic has at least 8 parts"),
        ("- 1\n" * 7, "library logic has at least 8 parts"),
        (TEXT.replace("DataType: 0", "DataType: 7"), "DataType: 7 is not supported"),
        (TEXT.replace("[64, 128, 1, 256]", "[64, many]"), "must begin with its extents"),
        (TEXT.replace("[64, 128, 1, 256]", "[64, 0, 1, 256]"), "must begin with its extents"),
        (TEXT.replace("[64, 128, 1, 256]", "[64, 128, 1, 256, x]"), "must begin with its extents"),
        (TEXT.replace("- - - [64, 128, 1, 256]\n    -", "- - []\n  -"), "must begin with its ext"),
        (TEXT.replace("TransposeB: true", "TransposeB: maybe"), "TransposeB: True or False"),
        (
            TEXT.replace("DataType: 0", "DataType: 3, ComplexConjugateA: true"),
            "yaml:5: ComplexConjugateA: True needs TransposeA: True",
        ),
        (
            TEXT.replace("DataType: 0", "DataType: 4, DestDataType: 0"),
            "yaml:5: DestDataType: all types are that of DataType, here half, got 0",
        ),
        (
            TEXT.replace("DataType: 0", "DataType: 4, ComputeDataType: 1"),
            "yaml:5: ComputeDataType: all types are that of DataType, here half or single, got 1",
        ),
    ],
)
def test_a_mistake_is_told_with_its_line(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        parse_logic(text, "logic.yaml")

    assert str(caught.value).startswith("logic.yaml:")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("- 1\n- 2\n", "library logic has at least 8 parts"),
        (TEXT.replace("[0, 4321.5]", "[]"), "there is no solution None with a counterpart"),
        (TEXT.replace("    - [0, 4321.5]\n", ""), "there is no solution None with a counterpart"),
        (TEXT.replace("[0, 4321.5]", "[2, 1.5]"), "there is no solution 2 with a counterpart"),
    ],
)
def test_a_mistake_in_a_choice_is_told_with_its_line(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        parse_choice(text, "logic.yaml")

    assert str(caught.value).startswith("logic.yaml:")
