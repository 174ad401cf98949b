from __future__ import annotations

import numpy as np
import pytest

from mltune.bench.task import Task
from mltune.problem import gemm_problem, parse_problem_type


@pytest.mark.parametrize(
    ("problem_type", "expected"),
    [
        ("sgemm_nn", ("N", "N", 5, 7, 5, 4)),
        ("sgemm_tn", ("T", "N", 5, 7, 4, 4)),
        ("sgemm_nt", ("N", "T", 5, 7, 5, 7)),
        ("zgemm_cn", ("C", "N", 5, 7, 4, 4)),
        ("zgemm_tc", ("T", "C", 5, 7, 4, 7)),
        # Row-major: C^T = op(B)^T op(A)^T, so sizes and operands are exchanged.
        ("sgemm_nn_row", ("N", "N", 7, 5, 7, 4)),
        ("sgemm_tn_row", ("N", "T", 7, 5, 7, 5)),
        ("zgemm_nc_row", ("C", "N", 7, 5, 4, 4)),
    ],
)
def test_a_problem_in_the_words_of_blas(
    problem_type: str, expected: tuple[str, str, int, int, int, int]
) -> None:
    task = Task.draw(gemm_problem(parse_problem_type(problem_type), 5, 7, 4), seed=1)

    assert (task.trans_a, task.trans_b, task.m, task.n, task.lda, task.ldb) == expected
    assert task.k == 4
    a, b = task.operands()
    assert (a.shape, b.shape) == ((1, task.m, 4), (1, 4, task.n))


@pytest.mark.parametrize("name", ["dgemm_nt", "zgemm_cn", "zgemm_tc", "zgemm_nc_row"])
def test_operands_are_those_of_the_definition(name: str) -> None:
    task = Task.draw(gemm_problem(parse_problem_type(name), 5, 7, 4), seed=1)
    of = task.problem.contraction.canonical()
    a, b = (
        each[0].conj() if conjugate else each[0]
        for each, conjugate in ((task.a, of.conjugate_a), (task.b, of.conjugate_b))
    )

    assert task.relative_error(np.einsum(of.einsum(), a, b)[np.newaxis]) < 1e-15


@pytest.mark.parametrize("name", ["hgemm_nn", "sgemm_nn", "dgemm_nn", "cgemm_nn", "zgemm_nn"])
def test_numbers_have_all_digits_and_both_parts(name: str) -> None:
    a = Task.draw(gemm_problem(parse_problem_type(name), 50, 1, 50), seed=1).a

    parts = [a.real, a.imag] if np.iscomplexobj(a) else [a]
    assert [part.std() for part in parts] == pytest.approx([1] * len(parts), abs=0.1)
    assert ((a.astype(np.complex64) == a).mean() < 0.1) == (name[0] in "dz")


def test_a_bias_is_part_of_the_result() -> None:
    task = Task.draw(gemm_problem(parse_problem_type("dgemm_nn_bias_m_relu"), 5, 7, 4), seed=1)
    a, b = task.operands()

    assert task.bias is not None
    right = np.maximum((a @ b).swapaxes(1, 2) + task.bias, 0)
    assert task.relative_error(right) < 1e-15


def test_the_error_is_that_of_the_whole_result() -> None:
    task = Task.draw(gemm_problem(parse_problem_type("dgemm_nn"), 300, 40, 30), seed=2)
    a, b = task.operands()
    right = (a @ b).swapaxes(1, 2)

    assert task.relative_error(right) < 1e-15
    assert task.relative_error(right * (1 + 1e-6)) == pytest.approx(1e-6, rel=1e-3)
    assert task.relative_error(np.zeros_like(right)) == pytest.approx(1)


def test_a_result_of_zeros_has_an_error_too() -> None:
    problem = gemm_problem(parse_problem_type("sgemm_nn_relu"), 1, 1, 1)
    task = next(task for task in (Task.draw(problem, seed) for seed in range(20)) if _is_cut(task))

    assert task.relative_error(np.zeros(task.c_shape, np.float32)) == 0
    assert task.relative_error(np.full(task.c_shape, 0.25, np.float32)) == 0.25


def _is_cut(task: Task) -> bool:
    return float(task.a.item()) * float(task.b.item()) < 0


def test_numbers_are_the_same_for_the_same_seed_only() -> None:
    problem = gemm_problem(parse_problem_type("sgemm_nn"), 8, 8, 8)

    first, again, other = (Task.draw(problem, seed).a for seed in (1, 1, 2))

    assert (first == again).all()
    assert (first != other).any()
