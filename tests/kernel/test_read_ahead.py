"""The loop that reads the next tile's first row before the barrier, on PoCL."""

import pytest

from mltune.errors import UnsupportedError, UsageError
from mltune.kernel import Kernel
from mltune.problem import Contraction, Precision, Problem, gemm, gemm_problem
from tests.kernel.conftest import Check
from tests.plain_async import tiled_without_copies

VALUES: dict[str, int | str] = {
    "work_group_0": 4, "work_group_1": 4, "thread_tile_0": 4, "thread_tile_1": 2, "depth_u": 8,
    "vector_width": 2, "prefetch_global_read": 1, "local_pad": 0, "loop_unroll": 8,
    "work_group_mapping": 2, "multiply_add": "expr", "vector_access": "cast",
    "local_buffers": 2, "prefetch_local_read": 2,
}  # fmt: skip
ASYNC: dict[str, int | str] = {
    "global_to_local": "async", "prefetch_global_read": 0, "local_buffers": 3, "depth_u": 4,
}  # fmt: skip


def _kernel(contraction: Contraction, **changes: int | str) -> Kernel:
    return tiled_without_copies(contraction, {**VALUES, **changes})


@pytest.mark.parametrize(
    ("trans", "precision", "changes"),
    [
        ("nt", Precision.SINGLE, {}),
        ("nn", Precision.SINGLE, {"loop_unroll": 2, "depth_u": 16}),
        ("tn", Precision.DOUBLE, {"local_split_u": 2}),
        ("cn", Precision.COMPLEX_SINGLE, {"global_split_u": 3}),
        ("tt", Precision.SINGLE, {"persistent_kernel": 2, "stream_k": 1}),
        ("nn", Precision.SINGLE, {"stagger_u": 4, "stagger_u_stride": 1}),
        ("nt", Precision.SINGLE, ASYNC),
        ("tn", Precision.SINGLE, {**ASYNC, "local_buffers": 2}),
        ("nn", Precision.SINGLE, {**ASYNC, "local_buffers": 4, "local_split_u": 2}),
    ],
)
def test_the_numbers_are_the_same(
    check: Check, trans: str, precision: Precision, changes: dict[str, int | str]
) -> None:
    contraction = gemm(precision, trans[0], trans[1])
    kernel = _kernel(contraction, **changes)

    for m, n, k in ((32, 24, 16), (33, 25, 19), (16, 8, 3)):
        check(gemm_problem(contraction, m, n, k, beta=0.5), kernel)


@pytest.mark.parametrize("changes", [{}, ASYNC])
def test_tiles_are_filled_anew_for_every_term_of_an_outer_sum(
    check: Check, changes: dict[str, int | str]
) -> None:
    contraction = Contraction.from_einsum(Precision.SINGLE, "bmkl,bkln->bmn").canonical()
    problem = Problem(contraction=contraction, sizes=(21, 11, 3, 6, 13), alpha=2.0)

    check(problem, _kernel(contraction, **changes))


@pytest.mark.parametrize("trans", ["nn", "nt", "tn"])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"prefetch_local_read": 1},
        {"prefetch_local_read": 0, "local_buffers": 1, "prefetch_global_read": 0},
        {"direct_to_registers_b": 1, "prefetch_local_read": 0},
        ASYNC,
        {**ASYNC, "prefetch_local_read": 0},
    ],
)
def test_without_a_rim_no_element_is_looked_at_by_itself(
    check: Check, trans: str, changes: dict[str, int | str]
) -> None:
    contraction = gemm(Precision.SINGLE, trans[0], trans[1])
    kernel = _kernel(contraction, edge_type="none", **changes)

    for m, n, k, alpha in ((32, 24, 16, 1.0), (16, 8, 8, 1.5), (16, 8, 16, 0.0)):
        problem = gemm_problem(contraction, m, n, k, alpha=alpha, beta=0.5)
        check(problem, kernel)


@pytest.mark.parametrize(
    ("trans", "changes"),
    [
        ("nn", {}),
        ("tn", {"prefetch_local_read": 1}),
        ("nt", {"prefetch_local_read": 0, "local_buffers": 1, "prefetch_global_read": 0}),
        ("tt", {"local_split_u": 2}),
        ("nt", ASYNC),
        ("nn", {**ASYNC, "prefetch_local_read": 0, "local_buffers": 2}),
        ("nn", {"direct_to_registers_a": 1, "prefetch_local_read": 0}),
    ],
)
def test_a_loop_without_guards_comes_before_one_with_them(
    check: Check, trans: str, changes: dict[str, int | str]
) -> None:
    contraction = gemm(Precision.SINGLE, trans[0], trans[1])
    kernel = _kernel(contraction, edge_type="loops", **changes)

    for m, n, k, gap in ((32, 24, 16, 0), (33, 25, 19, 1), (16, 8, 19, 0), (16, 9, 5, 0)):
        problem = gemm_problem(
            contraction, m, n, k, lda=max(m, k) + gap, ldb=max(n, k) + gap, beta=0.5
        )
        check(problem, kernel)


@pytest.mark.parametrize("einsum", ["bmkl,bkln->bmn", "mk,k->m"])
def test_contractions_are_right_in_two_loops(check: Check, einsum: str) -> None:
    contraction = Contraction.from_einsum(Precision.DOUBLE, einsum).canonical()
    sizes = tuple({0: 19, 1: 37}.get(index, 6) for index in range(contraction.num_indices))

    check(
        Problem(contraction=contraction, sizes=sizes, beta=-1.0),
        _kernel(contraction, edge_type="loops"),
    )


def test_without_a_rim_multiples_and_packed_matrices_are_asked_for() -> None:
    contraction = gemm(Precision.SINGLE)
    kernel = _kernel(contraction, edge_type="none")

    kernel.launch(gemm_problem(contraction, 32, 24, 16))

    for size, words in (((33, 24, 8), "multiples of 16 along i"), ((32, 24, 6), "of 8 along l")):
        with pytest.raises(UsageError, match=words):
            kernel.launch(gemm_problem(contraction, *size))
    with pytest.raises(UsageError, match="takes matrices without gaps"):
        kernel.launch(gemm_problem(contraction, 32, 24, 16, lda=36))


def test_only_gemms_are_without_a_rim() -> None:
    with pytest.raises(UnsupportedError, match="family tiled: edge_type none takes GEMMs only"):
        _kernel(Contraction.from_einsum(Precision.SINGLE, "mkl,kln->mn"), edge_type="none")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"local_buffers": 1}, "prefetch_local_read must be 0 or 1 but with an even depth_u"),
        ({"depth_u": 24, "local_split_u": 8}, "prefetch_local_read must be 0 or 1 but with"),
        ({"direct_to_registers_a": 1}, "prefetch_local_read must be 0 or 1 but with"),
        ({"loop_unroll": 1}, "loop_unroll must be even with prefetch_local_read"),
        ({"edge_type": "none", "global_split_u": 2}, "edge_type must be branch or shiftptr"),
        ({"edge_type": "none", "persistent_kernel": 1}, "branch or shiftptr with"),
        ({"edge_type": "loops", "stagger_u": 2}, "edge_type must be other than loops with"),
    ],
)
def test_what_does_not_go_together_is_refused(changes: dict[str, int | str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        _kernel(gemm(Precision.SINGLE), **changes)
