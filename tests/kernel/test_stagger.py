import pytest

from mltune.kernel import Kernel
from mltune.kernel.families import FAMILIES
from mltune.problem import Contraction, Precision, Problem, gemm, gemm_problem
from mltune.space import Config
from tests.kernel.conftest import Check

TILED = FAMILIES["tiled"]
SMALL: dict[str, int | str] = {
    "work_group_0": 4, "work_group_1": 4, "thread_tile_0": 2, "thread_tile_1": 2, "depth_u": 4,
    "vector_width": 2, "prefetch_global_read": 1, "local_pad": 0, "loop_unroll": 2,
    "work_group_mapping": 2, "multiply_add": "expr", "vector_access": "cast",
}  # fmt: skip
GEMM = gemm(Precision.SINGLE)


def _kernel(contraction: Contraction = GEMM, /, **changes: int | str) -> Kernel:
    return TILED.generate(contraction, Config.of({**SMALL, **changes}))


@pytest.mark.parametrize("stagger", [0, 1])
def test_one_place_is_no_stagger(stagger: int) -> None:
    kernel = _kernel(stagger_u=stagger)

    assert kernel.source.replace(kernel.name, "") == _kernel().source.replace(_kernel().name, "")


@pytest.mark.parametrize(
    ("precision", "stride", "steps"),
    [(Precision.SINGLE, 256, 16), (Precision.HALF, 256, 32), (Precision.COMPLEX_DOUBLE, 1, 1)],
)
def test_the_stride_is_in_bytes_and_at_least_a_step(
    precision: Precision, stride: int, steps: int
) -> None:
    source = _kernel(gemm(precision), stagger_u=8, stagger_u_stride=stride).source

    assert f"#define SUS {steps}\n" in source


@pytest.mark.parametrize(
    ("mapping", "number"),
    [(0, "tile_i / MT0"), (1, "tile_j / MT1"), (2, "(uint)get_group_id(2)"), (3, "group")],
)
def test_the_mapping_says_which_number_chooses_the_place(mapping: int, number: str) -> None:
    source = _kernel(stagger_u=8, stagger_u_mapping=mapping).source

    assert f"skipped = {number} % SU * SUS % " in source


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"prefetch_global_read": 0},
        {"local_buffers": 2},
        {"direct_to_registers_b": 1},
        {"global_split_u": 3},
        {"global_split_u": 3, "global_split_u_summation_assignment_round_robin": 1},
    ],
)
@pytest.mark.parametrize("terms", [0, 1, 4, 5, 61])
def test_every_length_of_a_sum_comes_out_right(
    changes: dict[str, int | str], terms: int, check: Check
) -> None:
    kernel = _kernel(stagger_u=5, stagger_u_mapping=3, stagger_u_stride=32, **changes)
    alpha = 1.5 if terms else 0
    problem = gemm_problem(kernel.contraction, 37, 29, max(terms, 1), alpha=alpha, beta=0.5)

    check(problem, kernel)


def test_every_round_of_an_outer_summation_is_staggered(check: Check) -> None:
    contraction = Contraction.from_einsum(Precision.DOUBLE, "bmkl,bkln->bmn")
    kernel = _kernel(contraction, stagger_u=7, stagger_u_mapping=1, stagger_u_stride=1)

    check(Problem(contraction=contraction, sizes=(3, 21, 19, 5, 30)), kernel)
