"""A product with a mistake anywhere, or of other numbers, is not proved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mltune.device import Device, Matrices, Sums, open_device
from mltune.problem import Precision, Problem, gemm, gemm_problem
from mltune.runner.data import Array
from mltune.runner.preparation import prepare_on_device
from mltune.runner.proof import ProofError, calculator_of

SEED = 5


@pytest.fixture(scope="module")
def device(device_spec: str) -> Device:
    return open_device(device_spec)


def problem(precision: Precision = Precision.SINGLE, beta: float = 0.0) -> Problem:
    return gemm_problem(gemm(precision, batched=True), 33, 50, 40, 2, beta=beta)


def spoil_result(
    device: Device, monkeypatch: pytest.MonkeyPatch, precision: Precision, by: Array
) -> None:
    """Add numbers to the computed product, in the order of memory."""
    numbers = calculator_of(device, precision.dtype)
    multiply = numbers.multiply

    def wrong(a: Matrices, b: Matrices, c: Matrices, right: Matrices, *scalars: Any) -> None:
        multiply(a, b, c, right, *scalars)
        values = np.empty(by.size, right.dtype)
        device.read(right.buffer, values)
        device.write(right.buffer, values + by)

    monkeypatch.setattr(numbers, "multiply", wrong)


@pytest.mark.parametrize("beta", [0.0, 0.5])
@pytest.mark.parametrize("precision", Precision)
@pytest.mark.parametrize("place", [0, 33 * 50, 2 * 33 * 50 - 1])
def test_one_wrong_element_is_found(
    device: Device,
    monkeypatch: pytest.MonkeyPatch,
    precision: Precision,
    beta: float,
    place: int,
) -> None:
    by = np.zeros(2 * 33 * 50)
    by[place] = 1e-8
    spoil_result(device, monkeypatch, precision, by)

    with pytest.raises(ProofError, match="33x50x40x2: the reference is not the product"):
        prepare_on_device(device, problem(precision, beta), SEED)


def test_errors_that_cancel_in_a_sum_are_found(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    by = np.zeros((2, 50, 33))
    by[1, 3, 7], by[1, 4, 7] = 1e-6, -1e-6
    spoil_result(device, monkeypatch, Precision.SINGLE, by.ravel())

    with pytest.raises(ProofError):
        prepare_on_device(device, problem(), SEED)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_no_number_is_found(
    device: Device, monkeypatch: pytest.MonkeyPatch, value: float
) -> None:
    by = np.zeros(2 * 33 * 50)
    by[77] = value
    spoil_result(device, monkeypatch, Precision.SINGLE, by)

    with pytest.raises(ProofError):
        prepare_on_device(device, problem(), SEED)


@pytest.mark.parametrize("which", [0, 1])
def test_a_right_product_of_other_numbers_is_found(
    device: Device, monkeypatch: pytest.MonkeyPatch, which: int
) -> None:
    numbers = calculator_of(device, Precision.SINGLE.dtype)
    draw, keys = numbers.draw, []

    def other(tensor: Matrices, key: int | None) -> None:
        keys.append(key)
        draw(tensor, 1 if key is not None and len(keys) == 2 + which else key)

    monkeypatch.setattr(numbers, "draw", other)

    with pytest.raises(ProofError, match="is not what the host calculates"):
        prepare_on_device(device, problem(), SEED)


def nothing(sums: Sums) -> Sums:
    return replace(sums, products=np.zeros_like(sums.products))


def half_the_norms(sums: Sums) -> Sums:
    return replace(sums, squares=sums.squares / 4)


@pytest.mark.parametrize("fault", [nothing, half_the_norms])
def test_a_device_that_gets_both_sides_wrong_alike_is_found(
    device: Device, monkeypatch: pytest.MonkeyPatch, fault: Callable[[Sums], Sums]
) -> None:
    for dtype in ("float32", "float64"):
        numbers = calculator_of(device, dtype)
        along = numbers.along
        monkeypatch.setattr(numbers, "along", lambda *given, along=along: fault(along(*given)))

    with pytest.raises(ProofError, match="is not what the host calculates"):
        prepare_on_device(device, problem(), SEED)


@pytest.mark.parametrize(
    "size", [(1, 1, 3000), (2000, 1, 1), (1, 2000, 1), (5, 700, 300), (64, 64, 64)]
)
@pytest.mark.parametrize("precision", [Precision.HALF, Precision.DOUBLE, Precision.COMPLEX_SINGLE])
def test_a_right_product_is_proved_for_every_seed(
    device: Device, precision: Precision, size: tuple[int, int, int]
) -> None:
    for seed in range(5):
        prepare_on_device(device, gemm_problem(gemm(precision), *size, beta=0.5), seed)
