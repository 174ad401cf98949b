from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mltune.errors import UsageError
from mltune.problem import Contraction, Precision, gemm, parse_problem_type, problem_type_name

EXTENTS = (2, 3, 4, 5, 6, 7)


def contraction(a: tuple[int, ...], b: tuple[int, ...], c: int) -> Contraction:
    return Contraction(
        precision=Precision.SINGLE, index_assignments_a=a, index_assignments_b=b, num_indices_c=c
    )


def evaluate(of: Contraction, a: Any, b: Any) -> Any:
    """C by the definition: one sum per element; last axes have the shortest stride."""
    sizes = EXTENTS[: of.num_indices]
    result = np.zeros(sizes[: of.num_indices_c][::-1])
    for index in itertools.product(*(range(size) for size in sizes)):
        at_a = tuple(index[number] for number in reversed(of.index_assignments_a))
        at_b = tuple(index[number] for number in reversed(of.index_assignments_b))
        result[index[: of.num_indices_c][::-1]] += a[at_a] * b[at_b]
    return result


def operands(of: Contraction) -> tuple[Any, Any]:
    generator = np.random.default_rng(5)
    shapes = (
        [EXTENTS[index] for index in reversed(assigned)]
        for assigned in (of.index_assignments_a, of.index_assignments_b)
    )
    a, b = (generator.integers(-9, 9, shape) for shape in shapes)
    return a, b


def test_tensile_example_gemm_nt() -> None:
    # C_ij = sum_l A_il B_jl
    example = contraction((0, 2), (1, 2), 2)

    assert example.name == "Cij_Aik_Bjk_SB"
    assert example == gemm(Precision.SINGLE, "n", "t")
    assert (example.free_indices_a, example.free_indices_b) == ((0,), (1,))
    assert (example.batch_indices, example.summation_indices) == ((), (2,))
    assert (example.d0, example.d1, example.du) == (0, 1, 2)


def test_tensile_example_batched_gemm() -> None:
    # C_ijk = sum_l A_ilk B_jlk, as in section IV: IndexAssignmentsA [0,3,2], B [1,3,2]
    example = contraction((0, 3, 2), (1, 3, 2), 3)

    assert example.name == "Cijk_Ailk_Bjlk_SB"
    assert example == gemm(Precision.SINGLE, "n", "t", batched=True)
    assert example.batch_indices == (2,)
    assert (example.d0, example.d1, example.du) == (0, 1, 3)


def test_of_several_free_indices_the_first_of_each_operand_is_tiled() -> None:
    example = parse_problem_type("s:abk,cdk->abcd")

    assert (example.free_indices_b, example.free_indices_a) == ((0, 1), (2, 3))
    assert (example.d0, example.d1, example.du) == (0, 2, 4)


@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize("order", ["column", "row"])
@pytest.mark.parametrize("trans_b", ["n", "t"])
@pytest.mark.parametrize("trans_a", ["n", "t"])
def test_gemm_is_the_matrix_product_as_it_lies_in_memory(
    trans_a: str, trans_b: str, order: str, batched: bool
) -> None:
    of = gemm(Precision.DOUBLE, trans_a, trans_b, order, batched)
    a, b = operands(of)

    def mathematical(array: Any, trans: str) -> Any:
        # A column-major matrix, as an array whose last axis has the shortest stride, is
        # transposed.
        turned = (order == "column") != (trans == "t")
        return array.swapaxes(-1, -2) if turned else array

    product = mathematical(a, trans_a) @ mathematical(b, trans_b)
    expected = product.swapaxes(-1, -2) if order == "column" else product
    assert np.array_equal(evaluate(of, a, b), expected)
    assert np.array_equal(np.einsum(of.einsum(), a, b), expected)


@pytest.mark.parametrize("order", ["column", "row"])
def test_canonical_gemm_has_its_shortest_index_in_a(order: str) -> None:
    of = gemm(Precision.SINGLE, "n", "t", order)

    assert of.swaps_operands == (order == "row")
    assert of.canonical().d0 in of.canonical().free_indices_a
    assert of.canonical().canonical() == of.canonical()


def test_conjugation_moves_with_its_operand() -> None:
    of = gemm(Precision.COMPLEX_SINGLE, "c", "n", "row")

    assert (of.conjugate_a, of.conjugate_b) == (True, False)
    assert (of.canonical().conjugate_a, of.canonical().conjugate_b) == (False, True)


@pytest.mark.parametrize("order", ["column", "row"])
@pytest.mark.parametrize("b", ["n", "t"])
@pytest.mark.parametrize("a", ["n", "t"])
def test_blas_conjugates_only_what_it_transposes(a: str, b: str, order: str) -> None:
    plain = gemm(Precision.COMPLEX_SINGLE, a, b, order)

    assert not plain.beyond_blas
    assert bool(replace(plain, conjugate_a=True).beyond_blas) == (a == "n")
    assert bool(replace(plain, conjugate_b=True).beyond_blas) == (b == "n")


@pytest.mark.parametrize(
    "text",
    ["mk,kn->mn", "bmk,bkn->bmn", "k,k->", "i,j->ij", "abk,kcb->cab", "xk,kx->x", "ik,k->i"],
)
def test_einsum_strings_mean_what_numpy_means(text: str) -> None:
    of = Contraction.from_einsum(Precision.DOUBLE, text)
    generator = np.random.default_rng(5)
    shape = {letter: 2 + ord(letter) % 5 for letter in text if letter.isalpha()}
    a, b = (
        generator.integers(-9, 9, [shape[letter] for letter in operand])
        for operand in text.split("->")[0].split(",")
    )

    assert np.array_equal(np.einsum(of.einsum(), a, b), np.einsum(text, a, b))


def test_the_summation_that_is_contiguous_in_a_is_unrolled() -> None:
    of = Contraction.from_einsum(Precision.SINGLE, "mpq,npq->mn")

    assert of.du is not None
    assert of.index_assignments_a[0] == of.du


@pytest.mark.parametrize("precision", list(Precision))
@pytest.mark.parametrize("order", ["column", "row"])
@pytest.mark.parametrize("batched", [False, True])
def test_names_are_reversible(precision: Precision, order: str, batched: bool) -> None:
    letters = "ntc" if precision.is_complex else "nt"
    for trans_a, trans_b in itertools.product(letters, letters):
        of = gemm(precision, trans_a, trans_b, order, batched)

        assert of.is_gemm
        assert parse_problem_type(problem_type_name(of)) == of
        assert parse_problem_type(of.name) == of
        assert Contraction.from_name(f"{of.name}_MT64x64x8") == of
        assert Contraction.from_json(of.to_json()) == of


@pytest.mark.parametrize(
    "text",
    ["mk,k->m", "k,kn->n", "mkl,lkn->mn", "abmk,abkn->abmn", "mbk,bkn->mbn", "mbk,bkn->bmn"],
)
def test_what_blas_cannot_name_is_no_gemm(text: str) -> None:
    assert not Contraction.from_einsum(Precision.SINGLE, text).is_gemm


@st.composite
def contractions(draw: st.DrawFn) -> Contraction:
    kinds = draw(st.lists(st.sampled_from(["a", "b", "ab"]), max_size=4))
    summed = draw(st.integers(0, 2))
    numbers = range(len(kinds) + summed)
    in_a = [i for i in numbers if i >= len(kinds) or "a" in kinds[i]] or None
    in_b = [i for i in numbers if i >= len(kinds) or "b" in kinds[i]] or None
    if in_a is None or in_b is None:
        return gemm(Precision.SINGLE)
    precision = draw(st.sampled_from(list(Precision)))
    return Contraction(
        precision=precision,
        index_assignments_a=tuple(draw(st.permutations(in_a))),
        index_assignments_b=tuple(draw(st.permutations(in_b))),
        num_indices_c=len(kinds),
        conjugate_a=draw(st.booleans()) and precision.is_complex,
        conjugate_b=draw(st.booleans()) and precision.is_complex,
    )


@given(contractions())
def test_every_contraction_reads_back_from_its_name(of: Contraction) -> None:
    assert Contraction.from_name(of.name) == of
    assert parse_problem_type(problem_type_name(of)) == of


@given(contractions())
def test_every_index_is_batch_free_or_summed(of: Contraction) -> None:
    groups = (of.batch_indices, of.free_indices_a, of.free_indices_b, of.summation_indices)

    assert sorted(itertools.chain(*groups)) == list(range(of.num_indices))


@pytest.mark.parametrize(
    ("a", "b", "c", "message"),
    [
        ((0, 0, 2), (1, 2), 2, "an index stands twice in A: [0, 0, 2]"),
        ((0, 2), (2,), 2, "index 1 of C is in neither A nor B"),
        ((0, 2), (1,), 2, "index 2 is not in C, so it must be in both A and B"),
        ((0, -1), (1,), 2, "index numbers must be 0 to 25, got A [0, -1], B [1]"),
        ((0, 26), (1, 26), 2, "index numbers must be 0 to 25, got A [0, 26], B [1, 26]"),
        ((0,), (1, 2), 2, "index 2 is not in C, so it must be in both A and B"),
        ((), (0,), 1, "A has no index"),
        ((0,), (), 1, "B has no index"),
    ],
)
def test_nonsense_is_refused(a: tuple[int, ...], b: tuple[int, ...], c: int, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        contraction(a, b, c)

    assert str(refused.value) == f"contraction: {message}"


def test_conjugating_a_real_precision_is_refused() -> None:
    with pytest.raises(UsageError, match="conjugation needs a complex precision, got SINGLE"):
        Contraction(
            precision=Precision.SINGLE,
            index_assignments_a=(0, 2),
            index_assignments_b=(2, 1),
            num_indices_c=2,
            conjugate_a=True,
        )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sgem_tn", "problem: unknown 'sgem_tn' (did you mean 'sgemm_tn'? known: sgemm_nn"),
        ("matrix", "problem: unknown 'matrix' (known: sgemm_nn"),
        ("", "problem: unknown ''"),
        ("q:mk,kn->mn", "precision: unknown 'q' (known: h (half)"),
        ("s:mk,kn", "problem: unknown 's:mk,kn'"),
        ("mk,kn->mn", "problem: unknown 'mk,kn->mn' (known: sgemm_nn"),
        ("s:m:k,kn->mn", "einsum: expected something like 'mk,kn->mn', got 'm:k,kn->mn'"),
        ("s:mk->mk", "einsum: expected something like 'mk,kn->mn', got 'mk->mk'"),
        ("s:mk,kn->mm", "einsum 'mk,kn->mm': m stands twice in mm"),
        ("s:mkk,kn->mn", "einsum 'mkk,kn->mn': k stands twice in mkk"),
        ("s:mk,kn->mnx", "einsum 'mk,kn->mnx': x of the result is in no operand"),
        ("s:mk,n->mn", "einsum 'mk,n->mn': k is not in the result, so it must be in both"),
        ("s:m,kn->mn", "einsum 'm,kn->mn': k is not in the result, so it must be in both"),
        ("Cij_Aik_Bkj_QB", "contraction: 'Cij_Aik_Bkj_QB' is no name such as Cij_Aik_Bkj_SB"),
        ("Cij_Aik_Bkj_SB_BIASj_RLU", "contraction: 'Cij_Aik_Bkj_SB_BIASj_RLU' is no name"),
        ("Cij_Aik_Bkj_SB_RELU_BIASj", "contraction: 'Cij_Aik_Bkj_SB_RELU_BIASj' is no name"),
        ("Cij_Aik_BkjC_SB", "contraction: conjugation needs a complex precision, got SINGLE"),
        ("Cji_Aik_Bkj_SB", "contraction: C's letters must be ij, got ji"),
    ],
)
def test_unreadable_problem_types_are_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_problem_type(text)

    assert str(refused.value).startswith(message)


@pytest.mark.parametrize("data", [None, [], {}, {"name": 3}])
def test_json_that_is_no_contraction_is_refused(data: Any) -> None:
    with pytest.raises(UsageError, match="contraction: expected a mapping with a name"):
        Contraction.from_json(data)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("x", "n", "column"), "trans_a must be n, t or c, got 'x'"),
        (("n", "x", "column"), "trans_b must be n, t or c, got 'x'"),
        (("n", "n", "diagonal"), "order must be column or row, got 'diagonal'"),
    ],
)
def test_gemm_refuses_unknown_words(words: tuple[str, str, str], message: str) -> None:
    with pytest.raises(UsageError, match=f"gemm: {message}"):
        gemm(Precision.SINGLE, *words)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("SGEMM_NT_ROW", "sgemm_nt_row"),
        ("sgemm", "sgemm_nn"),
        ("dgemm_cc", "dgemm_tt"),
        ("s:mk, kn -> mn", "sgemm_nn_row"),
    ],
)
def test_a_problem_type_may_have_other_words(text: str, name: str) -> None:
    assert problem_type_name(parse_problem_type(text)) == name
