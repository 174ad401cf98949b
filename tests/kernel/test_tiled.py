import pytest

from mltune.errors import UnsupportedError, UsageError
from mltune.kernel.families import FAMILIES
from mltune.problem import Contraction, Precision, Problem, gemm, gemm_problem
from mltune.space import Config
from tests.golden_file import golden
from tests.kernel.conftest import Check

TILED = FAMILIES["tiled"]
VALUES: dict[str, int | str] = {
    "work_group_0": 8,
    "work_group_1": 4,
    "thread_tile_0": 4,
    "thread_tile_1": 6,
    "depth_u": 16,
    "vector_width": 4,
    "prefetch_global_read": 1,
    "local_pad": 4,
    "loop_unroll": 4,
    "work_group_mapping": 8,
    "multiply_add": "expr",
    "vector_access": "cast",
}


def _config(**changes: int | str) -> Config:
    return Config.of({**VALUES, **changes})


def test_a_kernel_carries_its_geometry() -> None:
    kernel = TILED.generate(gemm(Precision.SINGLE), _config())

    assert kernel.work_group == (8, 4, 1)
    assert kernel.macro_tile == (32, 24)
    assert f"void {kernel.name}(\n" in kernel.source


def test_the_source_is_the_same_every_time() -> None:
    first = TILED.generate(gemm(Precision.SINGLE), _config())
    second = TILED.generate(gemm(Precision.SINGLE), _config())

    assert first == second
    assert first.source_hash == second.source_hash


def test_a_launch_covers_the_rim_of_c_with_whole_work_groups() -> None:
    kernel = TILED.generate(gemm(Precision.SINGLE), _config())
    problem = gemm_problem(
        gemm(Precision.SINGLE),
        33,
        24,
        5,
        lda=40,
        ldb=7,
        ldc=50,
        offset_a=1,
        offset_b=2,
        offset_c=3,
    )

    launch = kernel.launch(problem)

    assert launch.grids[0].global_size == (2 * 8, 1 * 4, 1)
    assert launch.grids[0].local_size == (8, 4, 1)
    assert launch.integers == (33, 24, 5, 3, 50, 0, 1, 40, 0, 2, 7, 0)


def test_a_row_major_problem_is_launched_with_operands_exchanged() -> None:
    row = gemm(Precision.SINGLE, "n", "n", "row")
    kernel = TILED.generate(row, _config())

    launch = kernel.launch(gemm_problem(row, 10, 20, 30))

    assert kernel.contraction == gemm(Precision.SINGLE)
    assert launch.integers == (20, 10, 30, 0, 20, 0, 0, 20, 0, 0, 30, 0)


def test_a_batch_takes_the_third_dimension_of_the_grid() -> None:
    batched = gemm(Precision.DOUBLE, batched=True)
    kernel = TILED.generate(batched, _config())

    launch = kernel.launch(gemm_problem(batched, 3, 4, 5, 7))

    assert launch.grids[0].global_size[2] == 7
    assert launch.integers == (3, 4, 5, 0, 3, 12, 0, 3, 15, 0, 5, 20)


def test_a_kernel_refuses_another_problem_type() -> None:
    kernel = TILED.generate(gemm(Precision.SINGLE), _config())

    with pytest.raises(UsageError, match="computes Cij_Aik_Bkj_SB, the problem is"):
        kernel.launch(gemm_problem(gemm(Precision.DOUBLE), 1, 1, 1))


def test_async_copies_are_refused_where_they_cannot_be_written() -> None:
    config = _config(global_to_local="async", local_buffers=2)

    with pytest.raises(UnsupportedError, match="async"):
        TILED.generate(gemm(Precision.COMPLEX_SINGLE), config)


def test_a_general_contraction_is_launched_with_all_extents_and_strides() -> None:
    contraction = Contraction.from_einsum(Precision.SINGLE, "bmkl,bkln->bmn")
    kernel = TILED.generate(contraction, _config())

    launch = kernel.launch(Problem(contraction=contraction, sizes=(5, 40, 3, 6, 7)))

    assert launch.integers[:5] == (5, 40, 3, 6, 7)
    assert launch.grids[0].global_size == (8, 2 * 4, 3)
    assert len(launch.integers[5:]) == 3 + 3 + 4 + 4


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"vector_width": 3}, "vector_width must be 1, 2, 4, 8 or 16, got 3"),
        ({"thread_tile_0": 6}, r"thread_tile_0 must be a multiple of vector_width \(4\), got 6"),
        ({"depth_u": 0}, "depth_u must be at least 1, got 0"),
        ({"prefetch_global_read": 2}, "prefetch_global_read must be 0 or 1, got 2"),
        ({"local_pad": -1}, "local_pad must be at least 0, got -1"),
        ({"multiply_add": "mul"}, "multiply_add must be expr or fma or mad, got 'mul'"),
        ({"vector_access": "dma"}, "vector_access must be cast or vload, got 'dma'"),
        ({"wave_lanes_0": 3, "wave_lanes_1": 2}, "wave_lanes_0 must be a divisor of work_group_0"),
        ({"local_buffers": 3}, "local_buffers must be 1 or 2 with global_to_local registers"),
        ({"local_split_u": 3}, "local_split_u must be a divisor of depth_u, got 3"),
        ({"non_temporal_a": 1, "vector_access": "vload"}, "non_temporal_a must be 0 but with"),
        ({"depth_u": "deep"}, "'depth_u' must be a whole number, got 'deep'"),
        ({"stagger_u": -1}, "stagger_u must be at least 0, got -1"),
        ({"waves_0": 1}, "unknown parameter 'waves_0'"),
    ],
)
def test_a_value_it_cannot_write_is_refused(changes: dict[str, int | str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        TILED.generate(gemm(Precision.SINGLE), _config(**changes))


@pytest.mark.parametrize("precision", [Precision.SINGLE, Precision.COMPLEX_DOUBLE])
def test_vectors_that_pass_the_caches_by_are_the_same_numbers(
    check: Check, precision: Precision
) -> None:
    streams = {f"non_temporal_{tensor}": 1 for tensor in "abc"}
    kernel = TILED.generate(gemm(precision), _config(**streams))
    assert kernel.source.count("__builtin_nontemporal_load") == 3
    assert kernel.source.count("__builtin_nontemporal_store") == 1

    check(gemm_problem(gemm(precision), 70, 48, 40, beta=0.5), kernel)


def test_half_does_not_pass_the_caches_by() -> None:
    with pytest.raises(UnsupportedError, match=r"non_temporal_. must be 0 in half"):
        TILED.generate(gemm(Precision.HALF), _config(non_temporal_b=1))


def test_a_missing_parameter_is_named() -> None:
    values = {name: value for name, value in VALUES.items() if name != "local_pad"}

    with pytest.raises(UsageError, match="'local_pad' must be a whole number, got None"):
        TILED.generate(gemm(Precision.SINGLE), Config.of(values))


def test_the_written_source_matches_the_golden_file() -> None:
    kernel = TILED.generate(gemm(Precision.SINGLE, "n", "t"), _config())

    assert kernel.source == golden("tiled_sgemm_nt.cl", kernel.source)
