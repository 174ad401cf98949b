import numpy as np
import pytest

from mltune.problem import Problem, gemm, gemm_problem
from mltune.problem.precision import Precision
from mltune.runner.data import PATTERN_BYTE, Layout, operands, untouched_outside


def problem(precision: Precision, beta: float = 0.0) -> Problem:
    return gemm_problem(
        gemm(precision, batched=True), 5, 4, 3, 2,
        lda=7, ldb=6, ldc=9, offset_a=2, offset_b=1, offset_c=3, beta=beta,
    )  # fmt: skip


@pytest.mark.parametrize("precision", list(Precision))
def test_inputs_are_uniform_inside_and_nan_outside(precision: Precision) -> None:
    given = problem(precision)
    data = operands(given, seed=1)

    for tensor, buffer in (("a", data.a), ("b", data.b)):
        layout = Layout.of(given, tensor)
        inside = layout.elements(buffer)
        assert np.abs(inside.real).max() <= 1
        assert inside.real.min() < 0 < inside.real.max()
        assert np.isnan(buffer).sum() == buffer.size - inside.size
        assert buffer.dtype == precision.dtype


@pytest.mark.parametrize("precision", list(Precision))
def test_c_is_nan_when_it_must_not_be_read(precision: Precision) -> None:
    unread, read = problem(precision), problem(precision, beta=1.0)
    layout = Layout.of(unread, "c")

    assert np.isnan(layout.elements(operands(unread, 1).c)).all()
    assert not np.isnan(layout.elements(operands(read, 1).c)).any()


def test_the_same_seed_draws_the_same_and_another_does_not() -> None:
    given = problem(Precision.SINGLE)
    first, again, other = (operands(given, seed) for seed in (1, 1, 2))

    assert first.a.tobytes() == again.a.tobytes()
    assert first.a.tobytes() != other.a.tobytes()


@pytest.mark.parametrize("precision", list(Precision))
def test_every_byte_outside_of_c_is_guarded(precision: Precision) -> None:
    given = problem(precision, beta=1.0)
    layout = Layout.of(given, "c")
    whole = operands(given, 1).c
    assert untouched_outside(whole.copy(), layout)

    outside = np.full(whole.size, True)
    layout.elements(outside)[...] = False
    # Before the tensor, in a gap between columns, and after it.
    for element in (0, layout.guard + layout.offset + 5, whole.size - 1):
        assert outside[element]
        spoilt = whole.copy()
        spoilt.view(np.uint8)[element * whole.itemsize] = PATTERN_BYTE ^ 1
        assert not untouched_outside(spoilt, layout)
