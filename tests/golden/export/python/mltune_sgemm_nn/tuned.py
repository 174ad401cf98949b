"""The product on pyopencl arrays."""

from __future__ import annotations

from collections.abc import Sequence

import pyopencl as cl
import pyopencl.array as cl_array

from .gemm_kernel import GemmType
from .kernels import KERNELS
from .launch import Launcher
from .selection import select

_LAUNCHER = Launcher(
    GemmType(
        name="sgemm_nn",
        dtype="float32",
        orders="FFF",
        batched=False,
        conjugate=(False, False),
    ),
    KERNELS,
    select,
)


def gemm(
    queue: cl.CommandQueue,
    a: cl_array.Array,
    b: cl_array.Array,
    c: cl_array.Array | None = None,
    *,
    alpha: complex = 1.0,
    beta: complex = 0.0,
    kernel: int | None = None,
    wait_for: Sequence[cl.Event] | None = None,
) -> tuple[cl_array.Array, cl.Event]:
    """Enqueue c = alpha * a @ b + beta * c, with numpy's shapes.

    What the problem type calls transposed is how an array lies in memory; `x.T` turns one order
    into the other without a copy. Taken are:

    - a Fortran-ordered, b Fortran-ordered, c Fortran-ordered, which is what was tuned
    - a C-ordered, b C-ordered, c C-ordered

    Args:
        queue: where to enqueue; its device computes.
        a: m x k.
        b: k x n.
        c: m x n; made when left out, and then beta must be 0. It shares no element with a or b.
        alpha: factor of the product; a and b are not read if this is 0.
        beta: factor of the old c, which is not read if this is 0.
        kernel: a kernel's number, to use it whatever the sizes are.
        wait_for: events to wait for, in addition to the arrays' own.

    Returns:
        c, and the event of the computation.

    Raises:
        ValueError: when types, shapes or memory orders do not fit, an array ends beyond its
            buffer or is of another context, c shares memory with a or b, or the kernel cannot
            run on the device.
        pyopencl.Error: when the driver refuses the launch; a note says so if c may have changed.
    """
    return _LAUNCHER.gemm(queue, a, b, c, alpha=alpha, beta=beta, kernel=kernel, wait_for=wait_for)


def release() -> None:
    """Forget the built kernels and scratch memory, and with them their contexts."""
    _LAUNCHER.release()
