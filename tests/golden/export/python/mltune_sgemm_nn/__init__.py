"""mltune_sgemm_nn: GEMM on an OpenCL device.

C = alpha * A * B + beta * C in single precision, column-major.

It chooses among 2 kernels by 2 exact sizes first, then a decision tree of depth 2.

What the choice loses, measured on 20 sizes held out from the fit: time of the best known
kernel / time of the chosen one is 0.973 in the geometric mean, 0.912 at the 10th percentile
and 0.841 at worst (at 35x700x2048).

Measured: device an example, not a measurement; statistic median of 7 samples, kernel time by
device events.

Needs numpy and pyopencl. Written by mltune.
"""

from .kernels import KERNELS
from .selection import select
from .tuned import gemm, release

__all__ = ["KERNELS", "gemm", "release", "select"]
