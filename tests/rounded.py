"""Numbers of single precision, rounded to a compute type's format as its kernels round them."""

from typing import Any

import numpy as np

from mltune.problem import ComputeType

Array = np.ndarray[Any, np.dtype[Any]]

_LOST_BITS = {ComputeType.TF32: 13, ComputeType.BF16: 16}


def rounded(values: Array, compute: ComputeType) -> Array:
    """The nearest numbers of the format, as numbers of single precision."""
    if compute is ComputeType.HALF:
        return values.astype(np.float16).astype(np.float32)
    lost = _LOST_BITS[compute]
    bits = values.astype(np.float32).view(np.uint32).astype(np.uint64)
    bits += (1 << (lost - 1)) - 1 + ((bits >> lost) & 1)  # ties to even
    kept: Array = (bits >> lost << lost).astype(np.uint32).view(np.float32)
    return kept
