"""Matrices whose columns are no multiple of 16 bytes, on tensor cores: copied in pieces."""

from itertools import product

import pytest

from mltune.problem import Contraction, Precision, Problem, gemm, gemm_problem
from mltune.space import Config
from tests.kernel.conftest import Check
from tests.plain_mma import PlainMmaFamily
from tests.plain_wgmma import PlainWgmmaFamily

MMA = PlainMmaFamily()
WGMMA = PlainWgmmaFamily()
VALUES: dict[str, int | str] = {
    "waves_0": 2, "waves_1": 1, "wave_tile_0": 16, "wave_tile_1": 16, "depth_u": 16,
    "local_buffers": 2, "work_group_mapping": 1,
}  # fmt: skip


@pytest.mark.parametrize(
    ("trans", "precision", "changes"),
    [
        ("nn", Precision.SINGLE, {}),
        ("tt", Precision.SINGLE, {"waves_0": 1}),
        ("tn", Precision.SINGLE, {"depth_u": 32, "local_split_u": 2, "global_split_u": 3}),
        ("nt", Precision.HALF, {"wave_tile_0": 32, "waves_1": 2}),
        ("tn", Precision.HALF, {"depth_u": 32}),
        ("nn", Precision.DOUBLE, {"depth_u": 8}),
    ],
)
def test_each_matrix_may_begin_and_go_on_anywhere(
    check: Check, trans: str, precision: Precision, changes: dict[str, int | str]
) -> None:
    contraction = gemm(precision, trans[0], trans[1])
    kernel = MMA.generate(contraction, Config.of({**VALUES, **changes}))
    sizes = [(64, 64, 64), (33, 17, 50), (39, 46, 39), (72, 16, 34), (3, 5, 2)]

    for (m, n, k), of_a, of_b in product(sizes, range(3), range(3)):
        problem = _misaligned(contraction, (m, n, k), of_a, of_b)
        check(problem, kernel)


@pytest.mark.parametrize("trans", ["nn", "tt"])
def test_so_may_each_matrix_that_warpgroups_multiply(check: Check, trans: str) -> None:
    contraction = gemm(Precision.HALF, trans[0], trans[1])
    values = {"warp_groups_0": 1, "warp_groups_1": 1, "depth_u": 64, "work_group_mapping": 1}
    tile = {"warp_group_tile_0": 64, "warp_group_tile_1": 64, "local_buffers": 3}
    kernel = WGMMA.generate(contraction, Config.of({**values, **tile}))

    for sizes, of_a, of_b in product([(70, 50, 66), (33, 65, 39)], range(3), range(3)):
        problem = _misaligned(contraction, sizes, of_a, of_b)
        check(problem, kernel)


def _misaligned(
    contraction: Contraction, sizes: tuple[int, int, int], of_a: int, of_b: int
) -> Problem:
    """A and B each with columns at multiples of 8, 2 or 1 elements, with NaNs between them."""
    multiples = (8, 2, 1)
    packed = gemm_problem(contraction, *sizes)

    def leading(tensor: str, multiple: int) -> int:
        least = packed.extents(tensor)[0]
        return least + -least % 8 + multiple % 8

    return gemm_problem(
        contraction,
        *sizes,
        lda=leading("a", multiples[of_a]),
        ldb=leading("b", multiples[of_b]),
        ldc=packed.extents("c")[0] + of_a,
        offset_a=8 * of_a,
        offset_b=multiples[of_b],
        alpha=-0.75,
        beta=2.5 if of_b else 0.0,
    )


def test_other_sums_and_strides_are_taken_one_by_one(check: Check) -> None:
    contraction = Contraction.from_einsum(Precision.SINGLE, "bmkl,bkln->bmn").canonical()
    kernel = MMA.generate(contraction, Config.of(VALUES))
    problem = Problem(contraction=contraction, sizes=(2, 19, 35, 3, 18), alpha=2.0)

    check(problem, kernel)
