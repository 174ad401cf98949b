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
