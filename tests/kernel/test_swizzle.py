"""Tiles that are transposed on their way into local memory, with their vectors permuted there."""

import pytest

from mltune.kernel import Kernel
from mltune.problem import Contraction, Precision, Problem, gemm, gemm_problem
from tests.kernel.conftest import Check
from tests.plain_async import tiled_without_copies

VALUES: dict[str, int | str] = {
    "work_group_0": 4, "work_group_1": 4, "thread_tile_0": 4, "thread_tile_1": 4, "depth_u": 8,
    "vector_width": 2, "prefetch_global_read": 1, "local_pad": 0, "loop_unroll": 2,
    "work_group_mapping": 2, "multiply_add": "expr", "vector_access": "cast", "swizzle": 1,
}  # fmt: skip
ASYNC: dict[str, int | str] = {
    "global_to_local": "async", "prefetch_global_read": 0, "local_buffers": 2,
}  # fmt: skip


def _kernel(contraction: Contraction, **changes: int | str) -> Kernel:
    return tiled_without_copies(contraction, {**VALUES, **changes})


@pytest.mark.parametrize(
    ("trans", "precision", "changes"),
    [
        ("nn", Precision.SINGLE, {}),
        ("nn", Precision.SINGLE, {**ASYNC, "vector_width": 4}),
        ("tt", Precision.SINGLE, {**ASYNC, "local_buffers": 3, "prefetch_local_read": 2}),
        ("tn", Precision.DOUBLE, {"thread_tile_0": 6, "work_group_0": 3, "local_pad": 2}),
        ("cn", Precision.COMPLEX_SINGLE, {"vector_width": 1, "local_split_u": 2}),
        ("tn", Precision.HALF, {"direct_to_registers_a": 1}),
        ("tt", Precision.SINGLE, {"vector_access": "vload", "local_pad": 1}),
    ],
)
def test_the_numbers_are_the_same(
    check: Check, trans: str, precision: Precision, changes: dict[str, int | str]
) -> None:
    contraction = gemm(precision, trans[0], trans[1])
    kernel = _kernel(contraction, **changes)
    assert "_SWIZZLE(along" in kernel.source

    for m, n, k in ((32, 48, 16), (33, 25, 19)):
        check(gemm_problem(contraction, m, n, k, beta=0.5), kernel)


def test_a_general_contraction_is_right(check: Check) -> None:
    contraction = Contraction.from_einsum(Precision.SINGLE, "bmkl,bkln->bmn").canonical()
    problem = Problem(contraction=contraction, sizes=(21, 11, 3, 6, 13), alpha=2.0)

    check(problem, _kernel(contraction))


def test_a_column_of_a_turned_tile_is_in_as_many_banks_as_there_are_places() -> None:
    source = _kernel(gemm(Precision.SINGLE), vector_width=4, thread_tile_1=8).source

    assert "#define B_SWIZZLE(l, column) ((column) ^ (l) % 8 * 4)\n" in source


def test_what_lies_as_local_memory_has_it_stays_in_place() -> None:
    contraction = gemm(Precision.SINGLE, "n", "t")
    kernel, plain = _kernel(contraction), _kernel(contraction, swizzle=0)

    assert kernel.source.replace(kernel.name, plain.name) == plain.source
