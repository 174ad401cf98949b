"""Tensile's library logic."""

from __future__ import annotations

import pytest

from mltune.errors import UsageError
from mltune.problem import Size, problem_type_name
from mltune.protocol.logic import parse_logic

TEXT = """\
- {MinimumRequiredVersion: 4.2.0}
- vega10
- gfx900
- [Device 6860]
- {OperationType: GEMM, DataType: 0, TransposeA: false, TransposeB: true, UseBeta: true}
- - {SolutionIndex: 0, WorkGroup: [16, 16, 1], ThreadTile: [4, 8], DepthU: 8, VectorWidth: 4,
     KernelLanguage: Source, ISA: [9, 0, 0], PrefetchGlobalRead: true}
  - {SolutionIndex: 1, WorkGroup: [16, 8, 2], ThreadTile: [4, 4], DepthU: 16, GlobalSplitU: 4,
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
        "logic.yaml: not carried over: GlobalSplitU: 4 (1 of 3 solutions)",
        "logic.yaml: not carried over: KernelLanguage: 'Assembly' (1 of 3 solutions)",
        "logic.yaml: not carried over: a solution without WorkGroup and ThreadTile "
        "(1 of 3 solutions)",
    )


def test_batches_make_a_batched_problem() -> None:
    logic = parse_logic(TEXT.replace("[64, 128, 1, 256]", "[64, 128, 7, 256]"), "logic.yaml")

    assert problem_type_name(logic.contraction) == "sgemm_nt_batched"
    assert Size((64, 128, 256, 7)) in logic.sizes


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("- 1\n- 2\n", "library logic has at least 8 parts"),
        (TEXT.replace("DataType: 0", "DataType: 7"), "DataType: 7 is not supported"),
        (TEXT.replace("[64, 128, 1, 256]", "[64, many]"), "must begin with its extents"),
        (TEXT.replace("TransposeB: true", "TransposeB: maybe"), "TransposeB: True or False"),
    ],
)
def test_a_mistake_is_told_with_its_line(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        parse_logic(text, "logic.yaml")

    assert str(caught.value).startswith("logic.yaml:")
