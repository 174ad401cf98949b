"""Problems that are too large for a device are refused before they are measured."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from mltune.device_info import DeviceInfo
from mltune.errors import UsageError
from mltune.problem import Precision, gemm, gemm_problem
from mltune.runner.capacity import refuse_too_large


@pytest.mark.parametrize(
    ("size", "tensor"),
    [((4096, 8, 4096), "A"), ((8, 4096, 4096), "B"), ((4096, 4096, 8), "C")],
)
@pytest.mark.parametrize("order", ["column", "row"])
def test_the_matrix_that_is_too_large_is_named(
    device_info: DeviceInfo, size: tuple[int, int, int], tensor: str, order: str
) -> None:
    device = replace(device_info, max_alloc_bytes=1 << 26)
    contraction = gemm(Precision.SINGLE, order=order)
    fits = gemm_problem(contraction, 1024, 1024, 1024)
    label = "x".join(map(str, size))
    message = f"sizes: {label} takes 67,117,056 bytes for {tensor}, and a buffer on "

    refuse_too_large([fits], device)
    with pytest.raises(UsageError, match=re.escape(message)):
        refuse_too_large([fits, gemm_problem(contraction, *size)], device)
