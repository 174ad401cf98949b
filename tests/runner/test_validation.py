import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mltune.problem import ComputeType, Contraction, Problem, gemm, gemm_problem
from mltune.problem.precision import Precision
from mltune.runner.data import Array, Layout, operands
from mltune.runner.validation import Verdict, check, reference
from tests.rounded import rounded

GEMMS = [
    gemm(precision, trans_a, trans_b, order, batched)
    for precision in (Precision.SINGLE, Precision.COMPLEX_DOUBLE)
    for trans_a, trans_b in itertools.product("ntc", repeat=2)
    for order in ("column", "row")
    for batched in (False, True)
]


def computed(problem: Problem, values: Array, seed: int = 0) -> Array:
    """C's guarded buffer with these values stored in it."""
    buffer = operands(problem, seed).c
    Layout.of(problem, "c").elements(buffer)[...] = values
    return buffer


def judge(problem: Problem, values: Array) -> Verdict:
    right = reference(problem, operands(problem, 0))
    return check(computed(problem, values), Layout.of(problem, "c"), right)


@pytest.mark.parametrize("contraction", GEMMS, ids=lambda contraction: contraction.name)
def test_the_reference_is_the_textbook_product(contraction: Contraction) -> None:
    problem = gemm_problem(
        contraction, 5, 4, 3, 2 if contraction.batch_indices else 1, alpha=1.5, beta=-0.5,
        offset_a=3, offset_c=2,
    )  # fmt: skip
    data = operands(problem, 0)
    a, b, c = (Layout.of(problem, t).elements(getattr(data, t)).T for t in "abc")
    a = a.conj() if contraction.conjugate_a else a
    b = b.conj() if contraction.conjugate_b else b
    expected = 1.5 * np.einsum(contraction.einsum(), a, b, dtype=np.complex128) - 0.5 * c

    assert np.allclose(reference(problem, data).values, expected.T, rtol=1e-14, atol=1e-14)


def test_a_contraction_of_many_indices_has_a_reference() -> None:
    contraction = Contraction.from_einsum(Precision.DOUBLE, "ambkl,nlkb->bmna")
    problem = Problem(contraction=contraction, sizes=(2, 3, 4, 5, 6, 7))
    data = operands(problem, 0)
    a, b = (Layout.of(problem, t).elements(getattr(data, t)).T for t in "ab")
    expected = np.einsum(contraction.einsum(), a, b)

    assert np.allclose(reference(problem, data).values, expected.T, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("precision", [Precision.HALF, Precision.SINGLE, Precision.COMPLEX_SINGLE])
@pytest.mark.parametrize(
    ("k", "beta"), [(1, 0.7), (2, 0.7), (17, 0.7), (300, 0.7), (4096, 0.7), (17, 700.0)]
)
def test_honest_rounding_stays_far_below_the_bound(
    precision: Precision, k: int, beta: float
) -> None:
    problem = gemm_problem(gemm(precision), 16, 16, k, alpha=0.3, beta=beta)
    data = operands(problem, 0)
    a, b, c = (Layout.of(problem, t).elements(getattr(data, t)) for t in "abc")
    total = np.zeros((16, 16), precision.dtype)
    for term in range(k):  # the longest chain of roundings: one product after the other
        total = total + np.multiply.outer(a[:, term], b[term])
    scalar = np.dtype(precision.dtype).type

    verdict = judge(problem, scalar(0.3) * total + scalar(beta) * c)

    assert verdict.fault == ""
    assert verdict.max_error is not None
    assert verdict.error_bound is not None
    assert verdict.max_error < verdict.error_bound / 2


@pytest.mark.parametrize("adds_in", [np.float16, np.float32])
@pytest.mark.parametrize("k", [1, 2, 3, 5, 8, 16, 64, 300])
def test_halves_bound_is_neither_reached_by_rounding_nor_far_above_it(
    k: int, adds_in: type[np.floating[Any]]
) -> None:
    problem = gemm_problem(gemm(Precision.HALF), 300, 300, k, alpha=1.5, beta=-0.5)
    data = operands(problem, k)
    a, b, c = (Layout.of(problem, t).elements(getattr(data, t)).astype(adds_in) for t in "abc")
    total = np.zeros((300, 300), adds_in)
    for term in range(k):
        total = total + np.multiply.outer(a[:, term], b[term])
    values = (adds_in(1.5) * total + adds_in(-0.5) * c).astype(np.float16)
    right = reference(problem, data)
    bounds = right.bounds.norms_a * right.bounds.norms_b + right.bounds.constant

    share = np.abs(values.astype(float) - right.values) / bounds

    assert 0.01 < share.max() < 0.6


ROUNDED = [each for each in ComputeType if each is not ComputeType.FULL]


def _with(compute: ComputeType, m: int, n: int, k: int) -> Problem:
    return gemm_problem(replace(gemm(Precision.SINGLE), compute=compute), m, n, k, alpha=1.5)


@pytest.mark.parametrize("compute", ROUNDED)
@pytest.mark.parametrize("k", [1, 2, 5, 9, 10, 16, 64, 300])
def test_elements_may_be_rounded_to_the_compute_type_and_no_more(
    compute: ComputeType, k: int
) -> None:
    problem = _with(compute, 300, 300, k)
    data = operands(problem, k)
    a, b = (Layout.of(problem, t).elements(getattr(data, t)) for t in "ab")
    right = reference(problem, data)
    bounds = right.bounds.norms_a * right.bounds.norms_b + right.bounds.constant

    def share(a: Array, b: Array) -> float:
        computed = 1.5 * (a.astype(float) @ b.astype(float))
        return float((np.abs(computed - right.values) / bounds).max())

    assert share(a, b) < 1e-3  # a kernel may compute in full single precision
    assert 0.2 < share(rounded(a, compute), rounded(b, compute)) < 1.0
    coarser = ComputeType.BF16 if compute is not ComputeType.BF16 else None
    if coarser is not None:
        assert share(rounded(a, coarser), rounded(b, coarser)) > 1.5


def test_elements_too_small_for_half_may_be_rounded_to_it() -> None:
    problem = _with(ComputeType.HALF, 400_000, 2, 1)
    data = operands(problem, 0)
    a, b = (Layout.of(problem, t).elements(getattr(data, t)) for t in "ab")
    a, b = (rounded(each, ComputeType.HALF).astype(float) for each in (a, b))

    assert judge(problem, 1.5 * a @ b).fault == ""


@pytest.mark.parametrize(
    ("compute", "k"), [(ComputeType.TF32, 8192), (ComputeType.HALF, 8192), (ComputeType.BF16, 512)]
)
def test_a_missing_term_is_found_among_rounded_ones(compute: ComputeType, k: int) -> None:
    problem = _with(compute, 33, 9, k)
    data = operands(problem, 0)
    a, b = (Layout.of(problem, t).elements(getattr(data, t)).astype(float) for t in "ab")
    values = reference(problem, data).values.copy()
    terms = a[32] * b[:, 8]
    values[32, 8] -= 1.5 * next(term for term in terms[::-1] if abs(term) >= 0.25)

    assert judge(problem, values).fault.startswith("1 of 297 elements are wrong: C[32, 8] is ")


def test_an_error_of_a_fifth_is_found_in_half() -> None:
    problem = gemm_problem(gemm(Precision.HALF), 64, 64, 64)
    values = reference(problem, operands(problem, 0)).values.copy()
    values[3, 5] += 0.2

    assert judge(problem, values).fault.startswith("1 of 4096 elements are wrong: C[3, 5] is ")


@pytest.mark.parametrize(
    ("precision", "k"),
    [(Precision.SINGLE, 4096), (Precision.DOUBLE, 4096), (Precision.HALF, 64)],
)
def test_a_single_missing_term_is_found(precision: Precision, k: int) -> None:
    problem = gemm_problem(gemm(precision), 33, 9, k)
    data = operands(problem, 0)
    a, b = (Layout.of(problem, t).elements(getattr(data, t)).astype(float) for t in "ab")
    values = reference(problem, data).values.copy()
    terms = a[32] * b[:, 8]
    values[32, 8] -= next(term for term in terms[::-1] if abs(term) >= 0.25)  # 0.25 on average

    verdict = judge(problem, values)

    assert verdict.fault.startswith("1 of 297 elements are wrong: C[32, 8] is ")


def test_a_missing_beta_is_found() -> None:
    problem = gemm_problem(gemm(Precision.SINGLE), 8, 8, 8, beta=0.05)
    without = gemm_problem(gemm(Precision.SINGLE), 8, 8, 8)

    verdict = judge(problem, reference(without, operands(without, 0)).values)

    assert "of 64 elements are wrong" in verdict.fault


@pytest.mark.parametrize("poison", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_no_number_is_wrong(poison: float) -> None:
    problem = gemm_problem(gemm(Precision.SINGLE), 8, 7, 3)
    values = reference(problem, operands(problem, 0)).values.copy()
    values[7, 6] = poison

    verdict = judge(problem, values)

    assert verdict.fault.startswith("1 of 56 elements are wrong: C[7, 6] is ")
    assert verdict.max_error is None


def test_a_right_result_with_a_write_beside_it_is_wrong() -> None:
    problem = gemm_problem(gemm(Precision.SINGLE), 8, 7, 3, ldc=9)
    layout = Layout.of(problem, "c")
    right = reference(problem, operands(problem, 0))
    buffer = computed(problem, right.values)
    buffer[layout.guard + 8] = 0  # the gap below the first column

    assert check(buffer, layout, right).fault == "memory outside of C's elements was written"


@pytest.mark.parametrize("shape", [(700, 300), (3, 90_000), (90_000, 3), (1, 1)])
def test_the_last_element_of_a_large_result_is_looked_at(shape: tuple[int, int]) -> None:
    problem = gemm_problem(gemm(Precision.SINGLE, batched=True), *shape, 1, 2)
    values = reference(problem, operands(problem, 0)).values.copy()
    assert judge(problem, values).fault == ""

    values[-1, -1, -1] += 1

    where = f"C[{shape[0] - 1}, {shape[1] - 1}, 1]"
    assert f"1 of {values.size} elements are wrong: {where} is" in judge(problem, values).fault


def test_all_wrong_elements_are_counted_and_one_that_is_no_number_leaves_no_largest_error() -> (
    None
):
    problem = gemm_problem(gemm(Precision.SINGLE), 700, 300, 1)
    values = reference(problem, operands(problem, 0)).values.copy()
    values[:2, 0] += 1
    values[-1, -1] = np.nan

    verdict = judge(problem, values)

    assert verdict.fault.startswith("3 of 210000 elements are wrong: C[0, 0] is ")
    assert (verdict.max_error, verdict.error_bound) == (None, None)
