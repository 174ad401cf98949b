"""The kernels of a problem type as a launcher needs them, and its errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace


class GemmError(ValueError):
    """The arguments of a call do not fit together, or are not supported by the kernels."""


class KernelError(GemmError):
    """A kernel cannot run on a device, by its build or limits, or computes wrong results there.

    Attributes:
        number: the kernel's.
    """

    def __init__(self, message: str, number: int) -> None:
        super().__init__(message)
        self.number = number


Geometry = Callable[[int, int, int, int, int], tuple[tuple[tuple[int, int, int], ...], int, int]]
"""Computes a launch: the global size of each pass, 0 where there is nothing to start, and the
bytes of scratch memory and of counters.

Its arguments are the rows and columns of a column-major C, the terms of a sum (1 if there are
none), the products of a batch, and the device's compute units.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class GemmKernel:
    """An OpenCL kernel, and how to launch it.

    Attributes:
        passes: launched one after the other, all with the same arguments: the name and the
            work-group of each.
        arguments: in order: the matrices `c`, `a` and `b`, the factors `alpha` and `beta`, `uint`
            and `ulong` for the next integer, a `bias` and the limits `low` and `high` of results,
            `scratch` for memory in which work-groups exchange partial sums, and `counters` for
            memory that is zero.
        integers: computes the integers, given the `rows` and `columns` of a column-major C, the
            `terms` of a sum, of each matrix `offset_a`, `ld_a` and `batch_stride_a`, and
            `offset_bias` where there is a bias.
        geometry: computes global sizes and memory of a launch.
        counts_units: whether the geometry asks for the device's compute units.
        two_steps: whether PTX instructions stand in comments that begin with `//@ `, so that the
            result of the first build must be built again without these marks.
    """

    name: str
    source: str
    build_options: tuple[str, ...]
    passes: tuple[tuple[str, tuple[int, int, int]], ...]
    arguments: tuple[str, ...]
    integers: Callable[..., tuple[int, ...]]
    geometry: Geometry
    counts_units: bool = False
    two_steps: bool = False

    @property
    def has_scratch(self) -> bool:
        """Whether it takes scratch memory."""
        return "scratch" in self.arguments

    @property
    def has_counters(self) -> bool:
        """Whether it takes counters."""
        return "counters" in self.arguments


@dataclass(frozen=True, slots=True, kw_only=True)
class GemmType:
    """The problem type of the kernels, and how its matrices lie in memory.

    Attributes:
        name: such as `sgemm_nt`, for messages.
        orders: of A (m x k), B (k x n) and C (m x n), one letter each as in numpy: `F` where
            neighbours in a column are neighbours in memory, `C` where those in a row are.
        conjugate: whether A's and B's elements are conjugated.
        bias: `m` where a number is added to each row of C, `n` to each column; empty for none.
        clamps: whether results are limited to a range.
    """

    name: str
    dtype: str
    orders: str
    batched: bool = False
    conjugate: tuple[bool, bool] = (False, False)
    bias: str = ""
    clamps: bool = False

    def exchanged(self) -> GemmType | None:
        """Return the same kernels for row-major C^T = B^T A^T; None if they conjugate an operand.

        So kernels for column-major matrices serve row-major ones. They do not if there is a bias:
        it would be added along the other side, and for a square C nothing would show the mistake.
        """
        if self.conjugate[0] != self.conjugate[1] or self.bias:
            return None
        a, b, c = ({"F": "C", "C": "F"}[order] for order in self.orders)
        return replace(self, orders=b + a + c)
