"""Only one of two operands goes through local memory, on PoCL."""

import pytest

from mltune.errors import UsageError
from mltune.kernel import Kernel
from mltune.kernel.families import FAMILIES
from mltune.problem import Contraction, Precision, Problem, gemm, gemm_problem
from mltune.space import Config
from tests.golden_file import golden
from tests.kernel.conftest import Check

VALUES: dict[str, int | str] = {
    "work_group_0": 4, "work_group_1": 4, "thread_tile_0": 4, "thread_tile_1": 2, "depth_u": 8,
    "vector_width": 2, "prefetch_global_read": 1, "local_pad": 0, "loop_unroll": 2,
    "work_group_mapping": 2, "multiply_add": "expr", "vector_access": "cast",
}  # fmt: skip
AHEAD = {"prefetch_global_read": 0, "prefetch_local_read": 1}
BUFFERS = {"local_buffers": 2}
SHARES = {"global_split_u": 3, "local_split_u": 2}
WALKS = {"persistent_kernel": 2, "stream_k": 1}
STAGGERS = {"stagger_u": 4, "stagger_u_stride": 1}


def _kernel(contraction: Contraction, **changes: int | str) -> Kernel:
    return FAMILIES["tiled"].generate(contraction, Config.of({**VALUES, **changes}))


@pytest.mark.parametrize(
    ("tensor", "trans", "precision", "changes"),
    [
        ("a", "nn", Precision.SINGLE, {}),
        ("b", "tn", Precision.SINGLE, AHEAD),
        ("b", "nt", Precision.SINGLE, BUFFERS),
        ("a", "tt", Precision.SINGLE, SHARES),
        ("b", "nn", Precision.SINGLE, STAGGERS),
        ("b", "nt", Precision.SINGLE, WALKS),
        ("a", "nt", Precision.HALF, AHEAD),
        ("a", "ct", Precision.COMPLEX_DOUBLE, {}),
    ],
)
def test_past_local_memory_the_numbers_are_the_same(
    check: Check,
    tensor: str,
    trans: str,
    precision: Precision,
    changes: dict[str, int],
) -> None:
    contraction = gemm(precision, trans[0], trans[1])
    kernel = _kernel(contraction, **changes, **{f"direct_to_registers_{tensor}": 1})

    for m, n, k, offset in ((32, 24, 16, 0), (33, 25, 19, 1)):
        problem = gemm_problem(contraction, m, n, k, offset_a=offset, offset_b=offset, beta=0.5)
        check(problem, kernel)


def test_a_contraction_with_several_sums_is_right(check: Check) -> None:
    contraction = Contraction.from_einsum(Precision.SINGLE, "bmkl,bkln->bmn")
    kernel = _kernel(contraction, direct_to_registers_b=1)
    problem = Problem(contraction=contraction, sizes=(3, 21, 5, 6, 11), alpha=2.0)

    check(problem, kernel)


def test_only_the_other_operand_has_a_tile_in_local_memory() -> None:
    contraction = gemm(Precision.SINGLE, "n", "t")
    kernels = {x: _kernel(contraction, **{f"direct_to_registers_{x}": 1}) for x in "ab"}

    assert "__local TYPE tile_a" not in kernels["a"].source
    assert "__local TYPE tile_b" in kernels["a"].source
    assert "__local TYPE tile_b" not in kernels["b"].source
    assert "#define A_READ(p) (*(const __global float2 *)(p))\n" in kernels["a"].source


def test_switched_off_is_what_the_family_writes_without_the_word() -> None:
    contraction = gemm(Precision.SINGLE)
    named = _kernel(contraction, direct_to_registers_a=0, direct_to_registers_b=0)
    plain = _kernel(contraction)

    assert named.source.replace(named.name, plain.name) == plain.source


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"direct_to_registers_b": 1},
            r"direct_to_registers_b must be 0 where .* \(the family dir",
        ),
        (
            {"global_to_local": "async", "local_buffers": 2},
            "direct_to_registers_a must be 0 with global_to_local async, got 1",
        ),
        ({"direct_to_registers_a": 2}, "direct_to_registers_a must be 0 or 1, got 2"),
    ],
)
def test_what_does_not_go_together_is_refused(changes: dict[str, int | str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        _kernel(gemm(Precision.SINGLE), **{"direct_to_registers_a": 1, **changes})


def test_the_written_source_matches_the_golden_file() -> None:
    source = _kernel(gemm(Precision.SINGLE, "n", "t"), direct_to_registers_a=1).source

    assert source == golden("tiled_sgemm_nt_direct_a.cl", source)
