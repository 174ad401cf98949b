import re

import pytest

from mltune.errors import UnsupportedError, UsageError
from mltune.kernel.families import FAMILIES
from mltune.problem import Precision, gemm, gemm_problem, parse_problem_type
from mltune.space import Config
from tests.golden_file import golden
from tests.kernel.conftest import Check
from tests.plain_wgmma import PlainWgmmaFamily

WGMMA = FAMILIES["wgmma"]
VALUES: dict[str, int | str] = {
    "warp_groups_0": 1,
    "warp_groups_1": 2,
    "warp_group_tile_0": 256,
    "warp_group_tile_1": 64,
    "depth_u": 64,
    "local_buffers": 4,
    "work_group_mapping": 8,
}


def _config(**changes: int | str) -> Config:
    return Config.of({**VALUES, **changes})


def test_a_kernel_carries_its_geometry() -> None:
    kernel = WGMMA.generate(gemm(Precision.HALF), _config())

    assert kernel.work_group == (256, 1, 1)
    assert kernel.macro_tile == (256, 128)
    launch = kernel.launch(gemm_problem(kernel.contraction, 257, 128, 7))
    assert launch.grids[0].global_size == (512, 1, 1)


@pytest.mark.parametrize(
    ("problem_type", "turned"),
    [("hgemm_nn", "0, 1"), ("hgemm_nt", "1, 1"), ("hgemm_tn", "0, 0"), ("hgemm_tt", "1, 0")],
)
def test_an_operand_that_is_contiguous_along_its_free_index_is_turned(
    problem_type: str, turned: str
) -> None:
    kernel = WGMMA.generate(parse_problem_type(problem_type), _config())

    assert f", 1, 1, 1, {turned};" in kernel.source  # of B, which gives the instruction's rows; A


def test_every_instruction_of_hopper_waits_for_the_second_step() -> None:
    source = WGMMA.generate(gemm(Precision.HALF), _config()).source
    instructions = re.findall(r'asm volatile\("(.*?)(?:wgmma|fence)', source)

    assert instructions
    assert set(instructions) == {"//@ "}


@pytest.mark.parametrize("columns", [64, 72, 112, 128, 192, 256])
def test_the_sums_of_an_instruction_are_all_tied(columns: int) -> None:
    source = WGMMA.generate(gemm(Precision.HALF), _config(warp_group_tile_0=columns)).source

    assert f"m64n{columns}k16" in source
    assert len(re.findall(r'"\+f"\(\(sum\)\[\d+\]\)', source)) == columns // 2


@pytest.mark.parametrize("precision", [Precision.DOUBLE, Precision.COMPLEX_SINGLE])
def test_what_the_tensor_cores_have_not_is_unsupported(precision: Precision) -> None:
    with pytest.raises(UnsupportedError, match=f"not {precision.name.lower()}"):
        WGMMA.generate(gemm(precision), _config())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"warp_group_tile_0": 96, "warp_groups_0": 2},
            "warp_group_tile_0 must be 64, 128, 192 or 256 with several warpgroups along d0 in "
            "half, got 96",
        ),
        ({"local_buffers": 2}, "local_buffers must be at least 3, got 2"),
        ({"depth_u": 32}, "depth_u must be 64 or 128 in half, got 32"),
    ],
)
def test_a_refused_value_is_named(changes: dict[str, int | str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        WGMMA.generate(gemm(Precision.HALF), _config(**changes))


@pytest.mark.parametrize("beta", [0.0, 0.5])
def test_c_is_written_in_chunks_or_one_by_one(check: Check, beta: float) -> None:
    values = {"warp_groups_1": 1, "warp_group_tile_0": 64, "local_buffers": 3}
    kernel = PlainWgmmaFamily().generate(gemm(Precision.HALF), _config(**values))

    for m, n, ldc, offset in ((64, 64, 64, 0), (72, 70, 80, 8), (70, 66, 72, 0), (70, 9, 71, 3)):
        problem = gemm_problem(
            kernel.contraction, m, n, 40, ldc=ldc, offset_c=offset, alpha=1.5, beta=beta
        )
        check(problem, kernel)


@pytest.mark.parametrize("dense", [0, 1])
@pytest.mark.parametrize(
    ("problem_type", "columns"), [("hgemm_nn", 80), ("hgemm_nt", 88), ("hgemm_tt", 72)]
)
def test_tiles_may_end_within_a_panel(
    check: Check, problem_type: str, columns: int, dense: int
) -> None:
    values = {"warp_groups_1": 1, "warp_group_tile_0": columns, "local_buffers": 3}
    values |= {"dense_rest": dense}
    kernel = PlainWgmmaFamily().generate(parse_problem_type(problem_type), _config(**values))

    for m, n, k in ((160, 64, 64), (96, 70, 40), (83, 9, 130)):
        problem = gemm_problem(kernel.contraction, m, n, k, alpha=1.5, beta=0.5)
        check(problem, kernel)


@pytest.mark.parametrize("problem_type", ["hgemm_nn", "hgemm_tt"])
def test_rows_may_begin_anywhere_up_to_the_end_of_the_matrix(
    check: Check, problem_type: str
) -> None:
    values = {"warp_groups_1": 1, "warp_group_tile_0": 64, "local_buffers": 3}
    kernel = PlainWgmmaFamily().generate(parse_problem_type(problem_type), _config(**values))

    for offset in range(8):
        size = (67 + offset, 3 + offset, 71)  # odd and even, chunks that end within the next row
        problem = gemm_problem(kernel.contraction, *size, offset_a=offset, offset_b=7 - offset)
        check(problem, kernel)


@pytest.mark.parametrize("groups", [1, 2])
def test_work_groups_that_walk_copy_for_their_next_tile(check: Check, groups: int) -> None:
    values = {"warp_groups_1": 1, "warp_group_tile_0": 64, "local_buffers": 4}
    config = _config(**values, persistent_kernel=groups, work_group_mapping=2)
    kernel = PlainWgmmaFamily().generate(gemm(Precision.HALF, batched=True), config)

    for m, n, k, batch in ((320, 192, 200, 1), (200, 330, 40, 2), (9, 64, 1, 1)):
        problem = gemm_problem(kernel.contraction, m, n, k, batch=batch, alpha=1.5, beta=0.5)
        check(problem, kernel)


def test_work_groups_walk_where_one_index_is_summed() -> None:
    config = _config(persistent_kernel=1)

    assert WGMMA.generate(gemm(Precision.HALF), config).groups_per_unit == 1
    two_sums = parse_problem_type("h:ikl,klj->ij")
    assert WGMMA.generate(two_sums, config).groups_per_unit == 0


def test_the_written_source_matches_the_golden_file() -> None:
    kernel = WGMMA.generate(gemm(Precision.HALF), _config())

    assert kernel.source == golden("wgmma_hgemm_nn.cl", kernel.source)
