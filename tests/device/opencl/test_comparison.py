"""A result is compared on the device: every element, and all memory around them."""

from __future__ import annotations

import numpy as np
import pytest

from mltune.device import Difference, Expected, open_device
from mltune.device.opencl import comparison

ROWS, COLUMNS, LEADING, FIRST, LENGTH = 301, 203, 304, 7, 304 * 203 + 20
PATTERN = 0xA5


@pytest.mark.parametrize("narrow", [comparison._NARROW, 0])
@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_a_wrong_element_and_a_write_outside_are_found(
    device_spec: str, dtype: str, narrow: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparison, "_NARROW", narrow)
    device = open_device(device_spec)
    values = np.arange(ROWS * COLUMNS).astype(dtype)
    bounds_a, bounds_b = np.linspace(0.1, 0.2, ROWS), np.linspace(1.0, 3.0, COLUMNS)
    one = device.comparison(
        Expected(
            dtype=dtype, first=FIRST, length=LENGTH,
            dims=((ROWS, 1, 1, 0), (COLUMNS, LEADING, 0, 1)), count=values.size,
            values=values.astype("complex128" if dtype == "complex128" else "float64"),
            norms_a=bounds_a, norms_b=bounds_b, constant=0.01, pattern=PATTERN,
        )
    )  # fmt: skip
    assert one is not None
    result = np.full(LENGTH * np.dtype(dtype).itemsize, PATTERN, np.uint8).view(dtype)
    inside = np.lib.stride_tricks.as_strided(
        result[FIRST:], (COLUMNS, ROWS), (LEADING * result.itemsize, result.itemsize)
    )
    inside[...] = values.reshape(COLUMNS, ROWS)
    buffer = device.allocate(result.nbytes)

    def found() -> Difference:
        device.write(buffer, result)
        return one.run(buffer)

    assert found() == Difference(wrong=0, written_outside=False, place=0, error=0.0)

    inside[202, 300] += 0.2 * 3.0 + 0.009  # the last element, within its bound
    difference = found()
    assert (difference.wrong, difference.place) == (0, values.size - 1)
    assert difference.error == pytest.approx(0.609, rel=1e-2)

    inside[5, 9] += 100
    inside[6, 9] = np.nan
    difference = found()
    assert (difference.wrong, difference.written_outside) == (2, False)
    assert (difference.place, difference.error) == (5 * ROWS + 9, 100)

    result[FIRST + ROWS] = 0  # between columns
    assert found().written_outside
