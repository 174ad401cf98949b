import re

import pytest

from mltune.errors import UsageError
from mltune.kernel.families import FAMILIES
from mltune.problem import Contraction, Precision, Problem, gemm, gemm_problem
from mltune.space import Config
from tests.golden_file import golden

WGMMA = FAMILIES["wgmma"]
VALUES: dict[str, int | str] = {
    "warp_groups_0": 1,
    "warp_groups_1": 2,
    "warp_group_tile_0": 128,
    "warp_group_tile_1": 64,
    "depth_u": 32,
    "local_buffers": 4,
    "partial_sum_terms": 64,
    "work_group_mapping": 8,
}


def _config(**changes: int | str) -> Config:
    return Config.of({**VALUES, **changes})


def test_both_operands_are_packed_before_the_multiplication() -> None:
    kernel = WGMMA.generate(gemm(Precision.SINGLE), _config())

    entries = [each.entry for each in kernel.passes]
    assert entries == [f"{kernel.name}_pack_a", f"{kernel.name}_pack_b", kernel.name]
    launch = kernel.launch(gemm_problem(kernel.contraction, 129, 128, 65))
    assert [grid.global_size for grid in launch.grids] == [
        (5 * 256, 2, 1),  # 32 rows of A and 64 terms each
        (4 * 256, 2, 1),
        (2 * 256, 1, 1),
    ]


def test_the_packed_operands_have_whole_tiles_and_turns() -> None:
    kernel = WGMMA.generate(gemm(Precision.SINGLE), _config())

    needed = kernel.scratch_bytes(gemm_problem(kernel.contraction, 129, 1, 65))

    assert needed == 4 * (256 * 128 + 128 * 128)


def test_all_summations_are_packed_as_one() -> None:
    contraction = Contraction(
        precision=Precision.SINGLE,
        index_assignments_a=(0, 2, 3),
        index_assignments_b=(2, 3, 1),
        num_indices_c=2,
    )
    kernel = WGMMA.generate(contraction, _config())
    problem = Problem(contraction=contraction, sizes=(128, 128, 13, 10))

    assert "#define ALL_TERMS (size_l * extent_k)" in kernel.source
    assert kernel.scratch_bytes(problem) == 4 * (128 * 192 + 128 * 192)


@pytest.mark.parametrize("algorithm", ["multiple", "red"])
def test_every_pass_of_a_shared_sum_takes_the_scratch_memory(algorithm: str) -> None:
    config = _config(global_split_u=4, global_split_u_algorithm=algorithm)
    kernel = WGMMA.generate(gemm(Precision.SINGLE), config)

    assert len(kernel.passes) == 4
    assert kernel.source.count("__global TYPE *restrict scratch)") == 4


def test_no_pass_follows_where_work_groups_count_themselves() -> None:
    config = _config(global_split_u=4, global_split_u_algorithm="multiple_single_kernel")
    kernel = WGMMA.generate(gemm(Precision.SINGLE), config)

    entries = [each.entry.removeprefix(kernel.name) for each in kernel.passes]
    assert entries == ["_pack_a", "_pack_b", ""]
    assert kernel.source.count("volatile __global uint *counters)") == 3


@pytest.mark.parametrize("columns", [64, 96, 128, 192])
def test_the_sums_of_an_instruction_are_all_tied(columns: int) -> None:
    config = _config(warp_group_tile_0=columns)
    source = WGMMA.generate(gemm(Precision.SINGLE), config).source

    assert f"m64n{columns}k8" in source
    assert len(re.findall(r'"\+f"\(\(sum\)\[\d+\]\)', source)) == columns // 2
    first = columns // 2
    assert f"%{first}, %{first + 1}, " in source  # the rows come after the sums


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"warp_group_tile_0": 256},
            "warp_group_tile_0 must be 64, 96, 128 or 192 in single, got 256",
        ),
        ({"local_buffers": 2}, "local_buffers must be at least 3, got 2"),
        ({"depth_u": 64}, "depth_u must be 32 in single, got 64"),
        (
            {"partial_sum_terms": 0},
            "partial_sum_terms must be 32, 64, 128 or 256 in single, got 0",
        ),
    ],
)
def test_a_refused_value_is_named(changes: dict[str, int | str], message: str) -> None:
    with pytest.raises(UsageError) as refused:
        WGMMA.generate(gemm(Precision.SINGLE), _config(**changes))

    assert str(refused.value) == f"kernel family wgmma: {message}"


def test_the_written_source_matches_the_golden_file() -> None:
    kernel = WGMMA.generate(gemm(Precision.SINGLE), _config())

    assert kernel.source == golden("wgmma_sgemm_nn.cl", kernel.source)
