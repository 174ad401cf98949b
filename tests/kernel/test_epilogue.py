from dataclasses import replace

import pytest

from mltune.errors import UnsupportedError
from mltune.kernel.abi import Kind
from mltune.kernel.families import FAMILIES
from mltune.kernel.name import parse_kernel_name
from mltune.problem import gemm_problem, parse_problem_type
from mltune.space import Config
from tests.golden_file import golden

DIRECT = FAMILIES["direct"]
CONFIG = Config.of(
    {
        "work_group_0": 8,
        "work_group_1": 8,
        "thread_tile_0": 8,
        "thread_tile_1": 4,
        "depth_u": 4,
        "vector_width": 4,
        "work_group_mapping": 1,
        "multiply_add": "mad",
        "vector_access": "vload",
    }
)
TILED: dict[str, int | str] = {
    "work_group_0": 8,
    "work_group_1": 8,
    "thread_tile_0": 4,
    "thread_tile_1": 4,
    "depth_u": 8,
    "vector_width": 4,
    "prefetch_global_read": 0,
    "local_pad": 0,
    "loop_unroll": 1,
    "work_group_mapping": 1,
    "multiply_add": "mad",
    "vector_access": "cast",
    "global_split_u": 2,
}


def test_the_written_source_matches_the_golden_file() -> None:
    source = DIRECT.generate(parse_problem_type("sgemm_nn_bias_m_clamp"), CONFIG).source

    assert source == golden("direct_sgemm_nn_bias_m_clamp.cl", source)


def test_a_name_reads_back() -> None:
    kernel = DIRECT.generate(parse_problem_type("sgemm_nn_bias_n_gelu"), CONFIG)

    assert kernel.name.startswith("Cij_Aik_Bkj_SB_BIASj_GELU_MT")
    assert parse_kernel_name(kernel.name) == (kernel.contraction, CONFIG)


def test_arguments_follow_those_of_the_matrices() -> None:
    contraction = parse_problem_type("sgemm_nn_bias_m_clamp")
    kernel = FAMILIES["tiled"].generate(contraction, Config.of(TILED))
    words = [(each.name, each.kind) for each in kernel.arguments]

    assert words[-5:] == [
        ("bias", Kind.MATRIX),
        ("offset_bias", Kind.ULONG),
        ("low", Kind.FACTOR),
        ("high", Kind.FACTOR),
        ("scratch", Kind.SCRATCH),
    ]
    problem = replace(gemm_problem(contraction, 5, 6, 7), offset_bias=11)
    assert kernel.launch(problem).integers[-1] == 11


@pytest.mark.parametrize("algorithm", ["single", "red"])
def test_work_groups_that_add_to_c_leave_no_place_for_it(algorithm: str) -> None:
    config = Config.of({**TILED, "global_split_u_algorithm": algorithm})
    FAMILIES["tiled"].generate(parse_problem_type("sgemm_nn"), config)

    with pytest.raises(UnsupportedError, match="no place for an epilogue"):
        FAMILIES["tiled"].generate(parse_problem_type("sgemm_nn_relu"), config)


def test_the_kernel_of_a_row_major_product_is_the_same() -> None:
    rows = DIRECT.generate(parse_problem_type("sgemm_nn_row_bias_n_silu"), CONFIG)

    assert rows == DIRECT.generate(parse_problem_type("sgemm_nn_bias_m_silu"), CONFIG)
