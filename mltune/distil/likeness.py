"""How much the times of one kernel tell about those of another, by their configs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mltune.selector import PortfolioKernel

Array = NDArray[np.float64]

REACH = 8.0
"""So many parameters that differ from end to end let the similarity of two kernels fall to 1/e."""

SIMILAR, OWN = 1.0, 0.3
"""Variance of what similar kernels share, and of what no kernel shares; what all share has 1.

On splits 100 and 101 of five runs of an H100, in which a kernel was timed on a fifth of the sizes,
kernels that share what they know lost 0.4 to 1.0 % less on held-out sizes. With reaches of 1 to 8,
`SIMILAR` of 0.5 and 2 and `OWN` of 0.03 and 0.1, results were within 0.3 % of each other. On runs
with all times known there was no difference.
"""


def kernel_covariance(kernels: Sequence[PortfolioKernel]) -> Array:
    """Return the covariance of the residuals of each two kernels on the same size."""
    configs = [dict(kernel.config.items()) for kernel in kernels]
    names = sorted({name for config in configs for name in config})
    columns: list[list[Any]] = [[config.get(name) for config in configs] for name in names]
    apart = np.zeros((len(kernels), len(kernels)))
    for values in [[kernel.family for kernel in kernels], *columns]:
        apart += _apart(values)
    return np.asarray(1.0 + SIMILAR * np.exp(-apart / REACH) + OWN * np.eye(len(kernels)))


def _apart(values: Sequence[Any]) -> Array:
    """Return the distances of a parameter's values, from 0 to 1; numbers on a scale of logs.

    A kernel without the parameter differs from those that have it as much as can be.
    """
    if not all(isinstance(value, int | None) for value in values):
        words = np.array([str(value) for value in values])
        return np.asarray(words[:, None] != words[None, :], dtype=np.float64)
    logs = np.log2([np.nan if value is None else 1.0 + abs(value) for value in values])
    span = np.nanmax(logs) - np.nanmin(logs)
    apart = np.abs(np.subtract.outer(logs, logs)) / (span or 1.0)
    is_missing = np.isnan(logs)
    return np.where(is_missing[:, None] != is_missing[None, :], 1.0, np.nan_to_num(apart))
