from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mltune.errors import UsageError
from mltune.problem import (
    Precision,
    Problem,
    gemm,
    gemm_problem,
    packed,
    parse_problem_type,
    problem_of_size,
    with_epilogue,
)

SGEMM = gemm(Precision.SINGLE)
BATCHED = gemm(Precision.SINGLE, "t", "n", batched=True)


def test_a_packed_problem_spans_its_elements() -> None:
    problem = gemm_problem(SGEMM, 4, 5, 6)

    assert [problem.span(tensor) for tensor in "abc"] == [24, 30, 20]
    assert (problem.strides_a, problem.strides_b, problem.strides_c) == ((1, 4), (1, 6), (1, 4))


def test_leading_dimensions_leave_gaps_that_a_span_includes() -> None:
    problem = gemm_problem(SGEMM, 4, 5, 6, lda=10, ldb=7, ldc=4, offset_a=3)

    assert [problem.span(tensor) for tensor in "abc"] == [54, 34, 20]
    assert problem.offset_a == 3


@pytest.mark.parametrize("order", ["column", "row"])
@pytest.mark.parametrize("trans", ["nn", "nt", "tn", "tt"])
def test_sizes_are_those_of_the_mathematical_product(trans: str, order: str) -> None:
    problem = gemm_problem(gemm(Precision.SINGLE, trans[0], trans[1], order), 4, 5, 6)

    assert (problem.m, problem.n, problem.k, problem.batch) == (4, 5, 6, 1)
    assert problem.label == "4x5x6"


def test_a_batch_multiplies_the_work() -> None:
    problem = gemm_problem(BATCHED, 4, 5, 6, 7)

    assert problem.batch == 7
    assert problem.label == "4x5x6x7"
    assert problem.flops == 2 * 4 * 5 * 6 * 7
    assert problem.bytes == 7 * (24 + 30 + 20) * 4


def test_beta_reads_c_and_complex_numbers_cost_eight() -> None:
    problem = gemm_problem(gemm(Precision.COMPLEX_DOUBLE), 4, 5, 6, beta=1j)

    assert problem.bytes == (24 + 30 + 2 * 20) * 16
    assert problem.flops == 8 * 120


def test_a_bias_is_read_once() -> None:
    problem = gemm_problem(with_epilogue(BATCHED, "bias_m"), 4, 5, 6, 7)

    assert problem.bytes == (7 * (24 + 30 + 20) + 4) * 4


def test_a_row_major_problem_is_the_column_major_one_with_operands_exchanged() -> None:
    problem = gemm_problem(gemm(Precision.SINGLE, "n", "t", "row"), 4, 5, 6, lda=9, offset_a=2)
    canonical = problem.canonical()

    assert (canonical.m, canonical.n, canonical.k) == (5, 4, 6)
    assert (canonical.strides_b, canonical.offset_b) == (problem.strides_a, 2)
    assert canonical.canonical() is canonical
    assert canonical.span("b") == problem.span("a")


def test_a_contraction_that_is_no_gemm_takes_extents_by_index_number() -> None:
    problem = problem_of_size(parse_problem_type("s:abk,kc->cab"), (2, 3, 4, 5))

    assert problem.sizes == (2, 3, 4, 5)
    assert problem.label == "2x3x4x5"
    assert problem.flops == 2 * 2 * 3 * 4 * 5


@pytest.mark.parametrize("size", [(4,), (4, 5), (4, 5, 6, 1, 1)])
def test_a_gemm_size_has_three_or_four_extents(size: tuple[int, ...]) -> None:
    with pytest.raises(UsageError, match="sgemm_nn takes MxNxK, got 4"):
        problem_of_size(SGEMM, size)
    with pytest.raises(UsageError, match="sgemm_tn_batched takes MxNxK or MxNxKxB, got 4"):
        problem_of_size(BATCHED, size)


@pytest.mark.parametrize(
    ("name", "batched"),
    [
        ("sgemm_nn", "sgemm_nn_batched"),
        ("sgemm_nt_row_tf32_relu", "sgemm_nt_row_batched_tf32_relu"),
        ("Cij_AikC_Bkj_CB", "Cijk_AilkC_Bljk_CB"),
    ],
)
def test_a_batch_for_an_unbatched_type_names_the_batched_one(name: str, batched: str) -> None:
    message = rf"{name} takes MxNxK, got 4x5x6x2 \(with a batch: {batched}\)"
    with pytest.raises(UsageError, match=message):
        problem_of_size(parse_problem_type(name), (4, 5, 6, 2))
    assert problem_of_size(parse_problem_type(batched), (4, 5, 6, 2)).batch == 2


@pytest.mark.parametrize("order", ["column", "row"])
def test_too_short_a_leading_dimension_is_refused(order: str) -> None:
    contraction = gemm(Precision.SINGLE, "n", "n", order)
    shortest = {"column": 4, "row": 6}[order]
    gemm_problem(contraction, 4, 5, 6, lda=shortest)

    with pytest.raises(UsageError, match=f"A's elements overlap: stride {shortest - 1} is"):
        gemm_problem(contraction, 4, 5, 6, lda=shortest - 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sizes": (4, 5)}, "sgemm_nn, ki,jk->ji, takes ixjxk, got 4x5"),
        ({"sizes": (4, 0, 6)}, r"sizes must be at least 1, got \[4, 0, 6\]"),
        ({"offset_b": -1}, "offsets must not be negative"),
        ({"strides_a": (1,)}, r"A has 2 indices, got strides \(1,\)"),
        ({"strides_b": (0, 6)}, r"B's strides must be at least 1, got \[0, 6\]"),
        ({"strides_c": (1, 1)}, "C's elements overlap"),
        ({"strides_a": (2, 6)}, "A's elements overlap: stride 6 is smaller than the 7 elements"),
        ({"beta": 1j}, "alpha and beta must be real for a real precision, got alpha=1.0 beta=1j"),
        ({"alpha": 1j}, "alpha and beta must be real for a real precision, got alpha=1j"),
    ],
)
def test_what_does_not_fit_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=f"^problem: {message}"):
        Problem(**{"contraction": SGEMM, "sizes": (4, 5, 6), **arguments})


def test_a_gemm_without_elements_is_refused_by_its_m_n_k_and_batch() -> None:
    with pytest.raises(UsageError, match="sizes must be at least 1, got 0x5x6x7"):
        gemm_problem(parse_problem_type("sgemm_nn_row_batched"), 0, 5, 6, batch=7)


def test_a_contraction_says_in_which_order_it_takes_extents() -> None:
    contraction = parse_problem_type("s:abc,cd->abd")
    taken = "problem: Cijk_Aljk_Bil_SB, kjl,li->kji, takes ixjxkxl, got 3x4x5"
    with pytest.raises(UsageError, match=f"^{taken}$"):
        problem_of_size(contraction, (3, 4, 5))


def test_what_does_not_overlap_may_have_any_strides() -> None:
    assert gemm_problem(SGEMM, 1, 1, 1, lda=1).span("a") == 1
    assert Problem(contraction=SGEMM, sizes=(1, 5, 6), strides_a=(7, 1)).span("a") == 6
    assert Problem(contraction=SGEMM, sizes=(4, 5, 1), strides_a=(1, 1)).span("a") == 4
    assert Problem(contraction=SGEMM, sizes=(4, 5, 6), strides_a=(6, 1)).span("a") == 24


extents = st.integers(1, 2**31 - 1)
finite = st.floats(allow_nan=False, allow_infinity=False)


@given(
    st.tuples(extents, extents, extents, extents),
    st.integers(0, 99),
    st.complex_numbers(allow_nan=False, allow_infinity=False),
    finite,
)
def test_json_gives_the_same_problem_back(
    size: tuple[int, int, int, int], gap: int, alpha: complex, beta: float
) -> None:
    contraction = gemm(Precision.COMPLEX_SINGLE, "c", "t", batched=True)
    m, n, k, batch = size
    problem = gemm_problem(
        contraction, m, n, k, batch, ldc=m + gap, offset_c=gap, alpha=alpha, beta=beta
    )

    assert Problem.from_json(json.loads(json.dumps(problem.to_json()))) == problem


def test_json_keeps_each_field_in_its_place() -> None:
    problem = Problem(
        contraction=parse_problem_type("sgemm_tn_batched_bias_m_clamp"),
        sizes=(2, 3, 5, 7),
        strides_a=(1, 8, 17),
        strides_b=(1, 9, 31),
        strides_c=(1, 4, 13),
        offset_a=19,
        offset_b=23,
        offset_c=29,
        alpha=0.5,
        beta=2.5,
        offset_bias=37,
        low=-1.5,
        high=4.0,
    )

    assert Problem.from_json(json.loads(json.dumps(problem.to_json()))) == problem


@pytest.mark.parametrize(
    "change",
    [
        {"sizes": None},
        {"sizes": ["four", 5, 6]},
        {"strides": [[1, 4]]},
        {"offsets": []},
        {"alpha": "one"},
        {"alpha": [1]},
        {"contraction": 3},
    ],
)
def test_json_that_is_no_problem_is_refused(change: dict[str, Any]) -> None:
    data = gemm_problem(SGEMM, 4, 5, 6).to_json() | change

    with pytest.raises(UsageError, match=r"^problem: not a problem description"):
        Problem.from_json(data)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=5))
def test_packed_strides_are_the_products_of_the_smaller_extents(sizes: list[int]) -> None:
    strides = packed(tuple(sizes))

    assert strides[0] == 1
    assert all(strides[i + 1] == strides[i] * sizes[i] for i in range(len(sizes) - 1))
