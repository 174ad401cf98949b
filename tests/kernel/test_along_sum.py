"""Tiles in local memory whose rows run along the sum, on PoCL."""

import pytest

from mltune.errors import UsageError
from mltune.kernel import Kernel
from mltune.kernel.families import FAMILIES
from mltune.kernel.tiled.along_sum import row_swizzle
from mltune.problem import Contraction, Precision, Problem, gemm, gemm_problem
from mltune.space import Config
from tests.golden_file import golden
from tests.kernel.conftest import Check
from tests.plain_async import tiled_without_copies

VALUES: dict[str, int | str] = {
    "work_group_0": 4, "work_group_1": 4, "thread_tile_0": 4, "thread_tile_1": 4, "depth_u": 8,
    "vector_width": 2, "vector_width_u": 4, "prefetch_global_read": 1, "local_pad": 0,
    "loop_unroll": 4, "work_group_mapping": 2, "multiply_add": "expr", "vector_access": "cast",
}  # fmt: skip
ASYNC: dict[str, int | str] = {
    "global_to_local": "async", "prefetch_global_read": 0, "local_buffers": 2,
    "global_read_vector_width": 4, "swizzle": 1,
}  # fmt: skip
PLAIN: dict[str, int | str] = {"prefetch_global_read": 0}


def _kernel(contraction: Contraction, **changes: int | str) -> Kernel:
    return tiled_without_copies(contraction, {**VALUES, **changes})


@pytest.mark.parametrize(
    ("trans", "precision", "changes"),
    [
        ("nn", Precision.SINGLE, {}),
        ("nn", Precision.SINGLE, ASYNC),
        ("tn", Precision.SINGLE, {**ASYNC, "local_buffers": 3, "edge_type": "loops"}),
        ("tt", Precision.SINGLE, {**ASYNC, "local_pad": 4, "vector_width_u": 2}),
        ("tn", Precision.DOUBLE, {"swizzle": 1, "thread_tile_0": 6, "work_group_0": 3}),
        ("tn", Precision.SINGLE, {"local_split_u": 2, "swizzle": 1, "local_pad": 1}),
        ("cn", Precision.COMPLEX_SINGLE, {**PLAIN, "vector_width": 1, "edge_type": "remainder"}),
        ("tt", Precision.COMPLEX_DOUBLE, {**PLAIN, "vector_width_u": 2, "swizzle": 1}),
        ("tn", Precision.HALF, {"vector_width_u": 2, "vector_width_b": 4, "swizzle": 1}),
        ("nn", Precision.SINGLE, {"vector_access": "vload", "local_pad": 1, "local_buffers": 2}),
        ("tn", Precision.SINGLE, {"direct_to_registers_a": 1, "vector_width_u": 2}),
        ("nn", Precision.SINGLE, {"vector_width_u": 2, "global_split_u": 3, "swizzle": 1}),
        ("tn", Precision.SINGLE, {"vector_width_u": 1, "multiply_add": "mad"}),
        ("tn", Precision.SINGLE, {"persistent_kernel": 2, "stream_k": 1}),
    ],
)  # fmt: skip
def test_the_numbers_are_the_same(
    check: Check, trans: str, precision: Precision, changes: dict[str, int | str]
) -> None:
    contraction = gemm(precision, trans[0], trans[1])
    kernel = _kernel(contraction, **changes)
    assert "READ_ALONG(" in kernel.source

    for m, n, k in ((32, 48, 16), (33, 25, 19), (5, 3, 2)):
        check(gemm_problem(contraction, m, n, k, beta=0.5), kernel)


@pytest.mark.parametrize("changes", [{}, ASYNC])
def test_general_contractions_are_right(check: Check, changes: dict[str, int | str]) -> None:
    contraction = Contraction.from_einsum(Precision.SINGLE, "bmkl,bkln->bmn").canonical()
    problem = Problem(contraction=contraction, sizes=(21, 11, 3, 6, 13), alpha=2.0)

    check(problem, _kernel(contraction, **changes))


def test_copies_past_the_registers_are_as_wide_as_the_config_says() -> None:
    config = Config.of({**VALUES, **ASYNC})
    source = FAMILIES["tiled"].generate(gemm(Precision.SINGLE), config).source

    assert source.count("cp.async.cg.shared.global [%0], [%1], 16;") == 2
    assert "tile + B_PLACE(B_ROW(across), along)" in source


@pytest.mark.parametrize("depth_u", [8, 16, 32, 64])
@pytest.mark.parametrize("width", [2, 4])
def test_work_items_that_read_together_meet_no_bank_twice(depth_u: int, width: int) -> None:
    """Eight of them read at once with vectors of 16 bytes, sixteen with 8 bytes."""
    rows, places = row_swizzle(depth_u, width, 4)

    for term in range(0, depth_u, width):
        moved = [term ^ item // rows % places * width for item in range(32 // width)]
        banks = {(item * depth_u + column) % 32 for item, column in enumerate(moved)}

        assert all(0 <= column < depth_u for column in moved)
        assert len(banks) == 32 // width


def test_what_runs_along_a_free_index_is_read_as_before() -> None:
    contraction = gemm(Precision.SINGLE, "n", "t")
    kernel, plain = _kernel(contraction), _kernel(contraction, vector_width_u=0)

    assert kernel.source.replace(kernel.name, plain.name) == plain.source


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"depth_u": 12, "local_split_u": 2},
            "vector_width_u must be a divisor of depth_u / local_split_u",
        ),
        ({"loop_unroll": 2}, r"loop_unroll must be a multiple of vector_width_u \(4\), got 2"),
        ({"prefetch_local_read": 1}, "prefetch_local_read must be 0 with vector_width_u, got 1"),
        ({**ASYNC, "local_pad": 2}, "local_pad must be a multiple of 4 with async copies"),
    ],
)
def test_what_does_not_go_together_is_refused(changes: dict[str, int | str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        _kernel(gemm(Precision.SINGLE), **changes)


def test_the_written_source_matches_the_golden_file() -> None:
    config = Config.of({**VALUES, **ASYNC})
    source = FAMILIES["tiled"].generate(gemm(Precision.SINGLE), config).source

    assert source == golden("tiled_sgemm_nn_along_sum.cl", source)
