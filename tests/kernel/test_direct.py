import pytest

from mltune.errors import UnsupportedError, UsageError
from mltune.kernel.families import FAMILIES
from mltune.problem import Contraction, Precision, Problem, gemm, gemm_problem
from mltune.space import Config
from tests.golden_file import golden

DIRECT = FAMILIES["direct"]
CLBLAS: dict[str, int | str] = {
    "work_group_0": 8,
    "work_group_1": 8,
    "thread_tile_0": 8,
    "thread_tile_1": 4,
    "depth_u": 4,
    "vector_width": 8,
    "vector_width_b": 4,
    "work_group_mapping": 1,
    "edge_type": "branch",
    "multiply_add": "expr",
    "vector_access": "cast",
}
"""clBlas's kernel for multiples: vectors of 8 rows, of 4 terms, 4 columns."""


def _config(**changes: int | str) -> Config:
    return Config.of({**CLBLAS, **changes})


def test_the_written_source_matches_the_golden_file() -> None:
    source = DIRECT.generate(gemm(Precision.SINGLE), _config()).source

    assert source == golden("direct_sgemm_nn.cl", source)


def test_a_work_item_reads_rows_of_a_and_terms_of_b_as_vectors_like_clblas() -> None:
    source = DIRECT.generate(gemm(Precision.SINGLE), _config()).source

    assert "#define A_READ(p) (*(const __global float8 *)(p))\n" in source
    assert "#define B_READ(p) (*(const __global float4 *)(p))\n" in source
    assert "#define A_LINES DU\n" in source
    assert "#define B_LINES TT1\n" in source
    assert "__local" not in source


def test_a_sub_group_reads_b_once() -> None:
    config = _config(
        work_group_0=16, work_group_1=4, thread_tile_0=2, vector_width=1, thread_tile_1=8,
        vector_width_b=1, depth_u=8, sub_group_size=16, edge_type="branch", multiply_add="mad",
    )  # fmt: skip
    kernel = DIRECT.generate(gemm(Precision.SINGLE), config)

    assert kernel.source == golden("direct_sgemm_nn_sub_groups.cl", kernel.source)
    assert "_SG16_" in kernel.name


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"work_group_0": 8}, "must be a divisor of work_group_0, got 16"),
        ({"depth_u": 1}, r"must be a divisor of thread_tile_1 \* depth_u, got 16"),
        ({"vector_width_u": 2}, "must be 0 where vector_width_u makes sums vectors"),
        ({"edge_type": "shiftptr"}, "must be 0 with edge_type shiftptr, got 16"),
    ],
)
def test_what_a_sub_group_cannot_share_is_refused(
    changes: dict[str, int | str], words: str
) -> None:
    config = _config(**{"work_group_0": 16, "sub_group_size": 16} | changes)

    with pytest.raises(UsageError, match=f"sub_group_size {words}"):
        DIRECT.generate(gemm(Precision.SINGLE), config)


def test_a_launch_covers_the_rim_of_c_with_whole_work_groups() -> None:
    kernel = DIRECT.generate(gemm(Precision.SINGLE), _config())

    launch = kernel.launch(gemm_problem(gemm(Precision.SINGLE), 65, 32, 5))

    assert kernel.macro_tile == (64, 32)
    assert launch.grids[0].global_size == (2 * 8, 1 * 8, 1)


def test_a_kernel_without_edges_takes_multiples_only() -> None:
    kernel = DIRECT.generate(gemm(Precision.SINGLE), _config(edge_type="none"))

    kernel.launch(gemm_problem(gemm(Precision.SINGLE), 128, 32, 8))

    for size, words in (((65, 32, 8), "multiples of 64 along i"), ((64, 32, 6), "of 4 along l")):
        with pytest.raises(UsageError, match=words):
            kernel.launch(gemm_problem(gemm(Precision.SINGLE), *size))


def test_a_kernel_without_edges_is_for_gemms_only() -> None:
    contraction = Contraction.from_einsum(Precision.SINGLE, "bmkl,bkln->bmn")

    with pytest.raises(UnsupportedError, match="edge_type none takes GEMMs only"):
        DIRECT.generate(contraction, _config(edge_type="none"))


@pytest.mark.parametrize("precision", list(Precision))
def test_every_precision_and_contraction_is_written(precision: Precision) -> None:
    contraction = Contraction.from_einsum(precision, "bmkl,bkln->bmn")
    kernel = DIRECT.generate(contraction, _config())

    launch = kernel.launch(Problem(contraction=contraction, sizes=(5, 40, 3, 6, 7)))

    assert "for (uint outer = 0; outer < extent_" in kernel.source
    assert launch.grids[0].global_size == (8, 2 * 8, 3)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"vector_width": 3}, "vector_width must be 1, 2, 4, 8 or 16, got 3"),
        ({"thread_tile_0": 12}, r"thread_tile_0 must be a multiple of vector_width \(8\), got 12"),
        ({"vector_width_b": 8}, "vector_width_b must be a divisor of 4, got 8"),
        ({"edge_type": "jump"}, "edge_type must be branch or shiftptr or none, got 'jump'"),
        ({"local_pad": 1}, "unknown parameter 'local_pad'"),
    ],
)
def test_a_value_it_cannot_write_is_refused(changes: dict[str, int | str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        DIRECT.generate(gemm(Precision.SINGLE), _config(**changes))
