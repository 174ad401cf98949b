"""Operands that a pass transposes before the multiplying pass, on PoCL."""

from dataclasses import replace

import pytest

from mltune.errors import UnsupportedError, UsageError
from mltune.kernel import Kernel
from mltune.kernel.families import FAMILIES
from mltune.problem import Contraction, Precision, gemm, gemm_problem, parse_problem_type
from mltune.space import Config
from tests.golden_file import golden
from tests.kernel.conftest import Check
from tests.plain_async import tiled_without_copies

VALUES: dict[str, int | str] = {
    "work_group_0": 4, "work_group_1": 4, "thread_tile_0": 4, "thread_tile_1": 4, "depth_u": 8,
    "vector_width": 2, "prefetch_global_read": 1, "local_pad": 0, "loop_unroll": 2,
    "work_group_mapping": 2, "multiply_add": "expr", "vector_access": "cast",
    "transpose_first": 1,
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
        ("nn", Precision.SINGLE, {**ASYNC, "vector_width": 4, "edge_type": "loops"}),
        ("tt", Precision.SINGLE, {**ASYNC, "local_buffers": 3, "prefetch_local_read": 2}),
        ("tn", Precision.DOUBLE, {"thread_tile_0": 6, "work_group_0": 3, "local_pad": 2}),
        ("cn", Precision.COMPLEX_SINGLE, {"vector_width": 1, "local_split_u": 2}),
        ("tc", Precision.COMPLEX_DOUBLE, {"vector_width": 1, "edge_type": "remainder"}),
        ("tn", Precision.HALF, {"direct_to_registers_a": 1}),
        ("tn", Precision.HALF, {"vector_access": "vload"}),
        ("nt", Precision.SINGLE, {}),
    ],
)
def test_the_numbers_are_the_same(
    check: Check, trans: str, precision: Precision, changes: dict[str, int | str]
) -> None:
    contraction = gemm(precision, trans[0], trans[1])
    kernel = _kernel(contraction, **changes)

    for m, n, k in ((32, 48, 16), (33, 25, 19), (5, 70, 3)):
        check(gemm_problem(contraction, m, n, k, beta=0.5), kernel)


@pytest.mark.parametrize("trans", ["nn", "tn"])
def test_batches_with_gaps_and_offsets_are_right(check: Check, trans: str) -> None:
    contraction = gemm(Precision.SINGLE, trans[0], trans[1], batched=True)
    problem = gemm_problem(contraction, 19, 35, 41, 3, lda=50, ldb=47, ldc=21, offset_b=5)

    check(problem, _kernel(contraction))


def test_a_bias_keeps_its_offset(check: Check) -> None:
    problem = replace(
        gemm_problem(parse_problem_type("sgemm_nn_bias_m_relu"), 19, 35, 41), offset_bias=7
    )

    check(problem, _kernel(problem.contraction))


def test_multiples_have_kernels_without_guards(check: Check) -> None:
    contraction = gemm(Precision.SINGLE)
    kernel = _kernel(contraction, **ASYNC, edge_type="none")

    check(gemm_problem(contraction, 32, 64, 24), kernel)


def test_with_alpha_zero_nothing_is_read(check: Check) -> None:
    contraction = gemm(Precision.SINGLE, "t", "n")
    problem = replace(gemm_problem(contraction, 20, 20, 20, beta=0.5), alpha=0.0)

    check(problem, _kernel(contraction))


def test_only_what_lies_along_the_sum_is_transposed() -> None:
    passes = {
        trans: [each.entry[-1] for each in _kernel(gemm(Precision.SINGLE, *trans)).before]
        for trans in ("nn", "nt", "tn", "tt")
    }

    assert passes == {"nn": ["b"], "nt": [], "tn": ["a", "b"], "tt": ["a"]}


def test_the_scratch_memory_has_rows_of_whole_tiles() -> None:
    kernel = _kernel(gemm(Precision.HALF, "t", "n"))
    problem = gemm_problem(gemm(Precision.HALF, "t", "n"), 33, 15, 10)

    assert kernel.scratch_bytes(problem) == 2 * 10 * (48 + 16)


def test_other_contractions_are_refused() -> None:
    contraction = Contraction.from_einsum(Precision.SINGLE, "bmkl,bkln->bmn").canonical()

    with pytest.raises(UnsupportedError, match="takes matrices and batches of them, got C"):
        _kernel(contraction)


@pytest.mark.parametrize("changes", [{"global_split_u": 2}, {"persistent_kernel": 1}])
def test_it_does_not_go_with_shared_sums(changes: dict[str, int | str]) -> None:
    with pytest.raises(UsageError, match="transpose_first must be 0 with global_split_u or pers"):
        _kernel(gemm(Precision.SINGLE), **changes)


def test_the_written_source_matches_the_golden_file() -> None:
    source = FAMILIES["tiled"].generate(gemm(Precision.SINGLE), Config.of(VALUES)).source

    assert source == golden("tiled_sgemm_nn_transpose_first.cl", source)
