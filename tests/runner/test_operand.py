"""Operands show whether anything was written to them, anywhere."""

from __future__ import annotations

import numpy as np
import pytest

from mltune.device import Device, open_device
from mltune.problem import Precision, gemm, gemm_problem
from mltune.runner.data import Layout, operands
from mltune.runner.operand import Operand, untouched


@pytest.fixture(scope="module")
def device(device_spec: str) -> Device:
    return open_device(device_spec)


@pytest.mark.parametrize("precision", Precision)
def test_a_kernel_gets_the_matrix_and_every_write_is_seen(
    device: Device, precision: Precision
) -> None:
    problem = gemm_problem(gemm(precision), 7, 5, 3, lda=9, offset_a=5)
    layout, data = Layout.of(problem, "a"), operands(problem, 0).a
    operand = Operand.upload(device, layout, data)
    inside = np.empty(layout.tensor_bytes // data.itemsize, data.dtype)
    device.read(operand.inside, inside)
    within = data[layout.guard : layout.guard + len(inside)]

    assert inside.tobytes() == within.tobytes()
    assert untouched(operand)
    whole = np.empty(operand.whole.size, np.uint8)
    device.read(operand.whole, whole)
    for place in (0, 4096, len(whole) // 2, len(whole) - 1):
        changed = whole.copy()
        changed[place] ^= 1
        device.write(operand.whole, changed)
        assert not untouched(operand)
    device.write(operand.whole, whole)
    assert untouched(operand)


def test_words_that_change_places_are_seen(device: Device) -> None:
    problem = gemm_problem(gemm(Precision.SINGLE), 8, 8, 8)
    layout, data = Layout.of(problem, "a"), operands(problem, 0).a
    operand = Operand.upload(device, layout, data)
    elements = layout.elements(data).copy()

    device.write(operand.inside, np.ascontiguousarray(elements.T).ravel()[::-1].copy())

    assert not untouched(operand)
