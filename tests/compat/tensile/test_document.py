from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mltune.compat.tensile import parse_protocol
from mltune.compat.tensile.complete import complete
from mltune.compat.tensile.plan import count_measurements, plan
from mltune.compat.tensile.problem_type import read_problem_type
from mltune.compat.tensile.space_text import space_of_configs, space_text
from mltune.errors import UsageError
from mltune.problem import Size, problem_type_name
from mltune.resources import data_folder
from mltune.space.config import Config
from mltune.space.load import parse_space
from mltune.space.names import OUTSIDE_NAMES
from mltune.space.yaml_document import parse_document

if TYPE_CHECKING:
    from tests.compat.tensile.conftest import OneGroup

FILES = sorted((data_folder("spaces") / "protocols").glob("*.yaml"))

GROUPS = """
BenchmarkProblems:
  -
    - OperationType: GEMM
      DataType: s
    -
      ForkParameters:
        - WorkGroup: [[8, 8, 1], [16, 8, 1]]
        - LdsPadB: [0, 4]
      BenchmarkFinalParameters:
        - ProblemSizes:
          - Range: [[16, 16, 64], 0, [32]]
          - Exact: [35, 7, 5]
    -
      ForkParameters:
        - ThreadTile: [[2, 2], [4, 4], [8, 8]]
      BenchmarkFinalParameters:
        - ProblemSizes:
          - Exact: [1024, 1, 512]
  -
    - OperationType: TensorContraction
      DataType: d
      IndexAssignmentsA: [0, 3, 2]
      IndexAssignmentsB: [1, 3, 2]
      NumIndicesC: 3
    -
      BenchmarkFinalParameters:
        - ProblemSizes:
          - Range: [[8], [8], [2], [16, 16, 48]]
"""


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_protocol_that_ships_is_right(file: Path) -> None:
    protocol = parse_protocol(file.read_text(), str(file))

    for problems in protocol.problems:
        for group in problems.groups:
            assert plan(group, lambda _: True).kernels


def test_ranges_exact_sizes_groups_and_problem_types() -> None:
    protocol = parse_protocol(GROUPS, "t.yaml")

    (first, second), (third,) = (problems.groups for problems in protocol.problems)
    assert [problem_type_name(one.contraction) for one in protocol.problems] == [
        "sgemm_nn",
        "dgemm_nt_batched",
    ]
    assert [size.label for size in first.final_sizes] == [
        "16x16x32", "32x32x32", "48x48x32", "64x64x32", "35x7x5",
    ]  # fmt: skip
    assert [size.label for size in second.final_sizes] == ["1024x1x512"]
    assert [size.label for size in third.final_sizes] == ["8x8x16x2", "8x8x32x2", "8x8x48x2"]


def test_groups_plan_their_kernels_apart_on_their_sizes() -> None:
    plans = [
        plan(group, lambda _: True)
        for problems in parse_protocol(GROUPS, "t.yaml").problems
        for group in problems.groups
    ]

    assert [len(one.kernels) for one in plans] == [2 * 2, 3, 1]
    counts = [
        count_measurements(one.measured) + len(one.final_sizes) * len(one.kernels) for one in plans
    ]
    assert counts == [4 * 5, 3 * 1, 1 * 3]


@pytest.mark.parametrize(
    ("setting", "name"),
    [
        ("LdsPadB: [0, 4]", "local_pad_b"),
        ("DirectToLds: [True]", "local_buffers"),
        ("StreamK: [True]", "persistent_kernel"),
    ],
)
def test_kernels_of_all_groups_have_the_same_parameters(setting: str, name: str) -> None:
    text = GROUPS.replace("LdsPadB: [0, 4]", setting)
    first, second = parse_protocol(text, "t.yaml").problems[0].groups

    names = {tuple(config) for group in (first, second) for config in plan(group, bool).kernels}
    assert len(names) == 1
    assert name in names.pop()


@pytest.mark.parametrize("name", ["plain", "2024", "a: b", "my #1", "é\"'", "🚀"])
def test_a_space_has_the_name_of_its_file_whatever_that_is(name: str) -> None:
    (first, _) = parse_protocol(GROUPS, f"{name}.yaml").problems

    assert parse_space(space_text(name, first.groups), f"{name}.yaml").name == name


def test_the_values_of_a_space_are_in_order() -> None:
    (first, _) = parse_protocol(GROUPS.replace("[0, 4]", "[12, 0, 4]"), "t.yaml").problems
    configs = [complete({"depth_u": depth}) for depth in (16, 32, 8)]

    assert "  local_pad_b: {values: [0, 4, 12]}\n" in space_text("x", first.groups)
    assert "  depth_u: {values: [8, 16, 32]}\n" in space_of_configs("x", configs)


def test_a_space_counts_both_buffers_and_the_padding_of_both_operands() -> None:
    config = {**complete({}), "local_buffers": 2, "local_pad_b": 0}  # tiles of 64 x 64, 16 deep
    padded, single = {**config, "local_pad_b": 4}, {**config, "local_buffers": 1}
    configs = [Config.of(each) for each in (config, padded, single)]
    space = parse_space(space_of_configs("x", configs), "x.yaml")

    def fitting(local_mem_bytes: int) -> list[bool]:
        limits = {**dict.fromkeys(OUTSIDE_NAMES, 1024), "bytes": 4}
        bound = space.bind({**limits, "local_mem_bytes": local_mem_bytes})
        return [each in bound for each in configs]

    assert fitting(2 * (64 + 64) * 16 * 4) == [True, False, True]
    assert fitting(2 * (64 + 64 + 4) * 16 * 4) == [True, True, True]
    assert fitting((64 + 64) * 16 * 4) == [False, False, True]


def test_settings_that_change_nothing_are_told_and_samples_are_taken() -> None:
    head = "GlobalParameters:\n  SleepPercent: 50\n  SyncsPerBenchmark: 3\n  EnqueuesPerSync: 4\n"
    protocol = parse_protocol(head + GROUPS + "LibraryLogic:\n", "t.yaml")

    assert protocol.samples == 12
    assert protocol.notes == (
        "t.yaml:2: SleepPercent is passed over: --rest pauses between measurements",
        "t.yaml:34: LibraryLogic is passed over: mltune distil and mltune export do it",
    )


@pytest.mark.parametrize(
    ("settings", "samples"),
    [
        ("", None),
        ("{KernelTime: True}", None),
        ("{EnqueuesPerSync: 4}", 4),
        ("{SyncsPerBenchmark: 0, EnqueuesPerSync: 4}", None),
    ],
)
def test_few_settings_have_an_effect(settings: str, samples: int | None) -> None:
    protocol = parse_protocol(f"GlobalParameters: {settings}\n{GROUPS}", "t.yaml")

    assert (protocol.samples, protocol.notes) == (samples, ())


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ("NewClient: 2", "it changes nothing here"),
        ("CEqualD: True", "it changes nothing here"),
        ("LegacyComponents: 0", "it changes nothing here"),
        ("EnableAsserts: True", "it changes nothing here"),
        ("MaxLDS: 32768", "it changes nothing here"),
        ("CSVExportWinner: 1", "it changes nothing here"),
        ("BoundsCheck: True", "every element is checked"),
        ("SolutionSelectionAlg: 1", "mltune distil and mltune export do it"),
    ],
)
def test_settings_of_tensiles_own_files_are_passed_over(setting: str, reason: str) -> None:
    protocol = parse_protocol(f"GlobalParameters: {{{setting}}}\n{GROUPS}", "t.yaml")

    assert protocol.notes == (f"t.yaml:1: {setting.split(':')[0]} is passed over: {reason}",)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("KernelTime: False", "t.yaml:1: KernelTime: only the device's own times are taken"),
        ("SyncsPerBenchmark: -1", "t.yaml:1: a number of launches must be at least 0, got -1"),
        ("SyncsPerBenchmark: many", "a number of launches must be at least 0, got many"),
        ("Syncs: 2", "t.yaml:1: unknown global parameter 'Syncs'"),
    ],
)
def test_a_wrong_setting_is_named_with_its_line(settings: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_protocol(f"GlobalParameters: {{{settings}}}\n{GROUPS}", "t.yaml")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("DataType: s", "DataType: q", "t.yaml:5: precision: unknown 'q'"),
        ("DataType: s", "DataTyp: s", "t.yaml:5: unknown key of a problem type 'DataTyp'"),
        ("DataType: s", "StridedBatched: False", "StridedBatched: False is not supported"),
        ("OperationType: GEMM", "OperationType: GEMV", "t.yaml:4: OperationType: unknown 'GEMV'"),
        ("  - LdsPadB: [0, 4]", "  - LdsPadB: 4", "t.yaml:9: LdsPadB: the values must be a list"),
        ("LdsPadB: [0, 4]", "LdsPadB: []", "t.yaml:9: LdsPadB: needs at least one value"),
        ("LdsPadB: [0, 4]", "InnerUnroll: [1, 4]", "t.yaml:9: InnerUnroll: 4 is not supported"),
        ("ForkParameters", "ForkParameter", "unknown step 'ForkParameter' (did you mean"),
        ("ForkParameters", "JoinParameters", "a joined parameter must be text, got a mapping"),
        ("BenchmarkProblems", "Problems", "t.yaml:2: unknown key 'Problems'"),
        ("OperationType: GEMM", "NumIndicesC: 2", "NumIndicesC: a GEMM has TransposeA, -B"),
        ("ForkParameters", "BenchmarkCommonParameters", "no ProblemSizes before this step"),
        (
            "ForkParameters:\n        - WorkGroup",
            "BenchmarkForkParameters:\n        - DepthU: [8]\n          WorkGroup",
            "BenchmarkForkParameters: no ProblemSizes before this step",
        ),
        (
            "  - ProblemSizes",
            "  - DepthU: [8]\n          ProblemSizes",
            "BenchmarkFinalParameters: ProblemSizes, and no parameter",
        ),
        (
            "BenchmarkFinalParameters",
            "BenchmarkJoinParameters",
            "a group needs BenchmarkFinalParameters with ProblemSizes",
        ),
        ("IndexAssignmentsA: [0, 3, 2]", "UseBeta: True", "needs IndexAssignmentsA"),
    ],
)
def test_a_mistake_is_named_with_its_line(old: str, new: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_protocol(GROUPS.replace(old, new, 1), "t.yaml")

    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_measurements_of_many_kernels_on_many_sizes_are_counted_at_once(
    one_group: OneGroup,
) -> None:
    group = one_group(
        "BenchmarkCommonParameters:\n  - ProblemSizes:\n    - Range: [[1, 1, 20000], [8], [8]]\n"
        f"  - WorkGroupMapping: {list(range(1, 301))}\n"
    )

    began = time.process_time()
    measured = plan(group, lambda _: True).measured

    assert count_measurements(measured) == count_measurements([*measured, *measured]) == 6_000_000
    assert time.process_time() - began < 2  # with a list of them, 36


@pytest.mark.parametrize("step", ["ForkParameters", "BenchmarkForkParameters"])
def test_more_combinations_than_anyone_would_measure_are_refused(
    one_group: OneGroup, step: str
) -> None:
    values = list(range(1, 51))
    sizes = "BenchmarkCommonParameters:\n  - ProblemSizes:\n    - Exact: [8, 8, 8]\n"
    names = ("DepthU", "LoopUnroll", "WorkGroupMapping")
    choices = "".join(f"    {name}: {values}\n" for name in names).replace("   ", "  -", 1)

    with pytest.raises(UsageError, match=f"{step}: 125,000 combinations, at most 100,000 are"):
        one_group(f"{sizes}{step}:\n{choices}")


def test_a_gemm_by_its_letters_and_no_conjugate_without_a_transpose() -> None:
    def read(text: str) -> str:
        return problem_type_name(read_problem_type(parse_document(f"{{{text}}}", "t.yaml")))

    assert read("DataType: s, TransposeB: True, Batched: True") == "sgemm_nt_batched"
    assert read("DataType: z, TransposeA: True, ComplexConjugateA: True") == "zgemm_cn"
    assert read("DataType: z, TransposeA: True, TransposeB: True") == "zgemm_tt"
    assert read("DataType: s, ComplexConjugateB: True") == "sgemm_nn"
    with pytest.raises(UsageError, match=r"t.yaml:1: ComplexConjugateB: True needs TransposeB"):
        read("DataType: c, TransposeA: True, ComplexConjugateB: True")


@pytest.mark.parametrize(
    ("types", "name"),
    [
        ("DataType: h, DestDataType: h, ComputeDataType: h", "hgemm_nn"),
        ("DataType: h, ComputeDataType: s", "hgemm_nn"),
        ("ComputeDataType: s", "sgemm_nn"),
        ("DataType: d, ComputeDataType: s", ""),
        ("DataType: h, ComputeDataType: d", ""),
        ("DataType: h, DestDataType: s", ""),
        ("DataType: s, ComputeDataType: d", ""),
    ],
)
def test_all_types_are_equal_but_half_may_be_computed_in_single(types: str, name: str) -> None:
    item = parse_document(f"{{{types}}}", "t.yaml")

    if name:
        assert problem_type_name(read_problem_type(item)) == name
    else:
        with pytest.raises(
            UsageError,
            match=r"t.yaml:1: \w+Type: all types are that of DataType, here .*, got '[ds]'$",
        ):
            read_problem_type(item)


def test_the_same_problem_type_twice_is_refused() -> None:
    problems = GROUPS.split("BenchmarkProblems:\n")[1]

    with pytest.raises(UsageError, match="sgemm_nn stands twice"):
        parse_protocol(GROUPS + problems, "t.yaml")


def test_a_join_needs_sizes_to_compare_on() -> None:
    text = GROUPS.replace(
        "      ForkParameters", "      JoinParameters: [MacroTile]\n      ForkParameters", 1
    )

    with pytest.raises(UsageError, match="no ProblemSizes before it"):
        parse_protocol(text, "t.yaml")


def test_sizes_on_which_kernels_are_only_joined_are_sizes_of_the_steps(
    one_group: OneGroup,
) -> None:
    sizes = """
BenchmarkForkParameters:
  - ProblemSizes:
    - Exact: [32, 16, 8]
"""

    assert one_group(f"{sizes}JoinParameters: [MacroTile]").step_sizes == (Size((32, 16, 8)),)
    assert one_group(sizes).step_sizes == ()
