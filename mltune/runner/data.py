"""The numbers that a kernel is checked with, and the guards around them.

A tensor is in a larger buffer: a guard zone, the problem's offset, the elements with the gaps of
their strides, and a guard zone again. Around and between the elements of A and B are NaNs, which
spoil every sum that reads them; around and between those of C is a bit pattern, which shows every
write. With beta = 0 the elements of C are NaN, too, as C must not be read then.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mltune.problem import Problem
from mltune.runner.generator import drawn, key_of

Array = np.ndarray[Any, np.dtype[Any]]

GUARD_BYTES = 4096  # also the alignment of a tensor in its buffer, enough for every driver
PATTERN_BYTE = 0xA5
NAN_BYTE = 0xFF
"""A number of such bytes is NaN in every precision."""

_NAN = {size: np.full(size, NAN_BYTE, np.uint8) for size in (2, 4, 8, 16)}


@dataclass(frozen=True, slots=True)
class Layout:
    """The places of a tensor's elements in its guarded buffer, in elements of `dtype`.

    A single number without an index is a tensor with one index, whose extent is 1.
    """

    dtype: str
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    span: int

    @classmethod
    def of(cls, problem: Problem, tensor: str) -> Layout:
        """Return the layout of one of the problem's `tensors`."""
        return cls(
            problem.contraction.precision.dtype,
            problem.extents(tensor) or (1,),
            getattr(problem, f"strides_{tensor}") or (1,),
            getattr(problem, f"offset_{tensor}"),
            problem.span(tensor),
        )

    @property
    def guard(self) -> int:
        """Elements in one guard zone."""
        return GUARD_BYTES // np.dtype(self.dtype).itemsize

    @property
    def length(self) -> int:
        """Elements of the whole buffer."""
        return self.guard + self.offset + self.span + self.guard

    @property
    def nbytes(self) -> int:
        """Bytes of the whole buffer."""
        return self.length * np.dtype(self.dtype).itemsize

    @property
    def tensor_bytes(self) -> int:
        """Bytes between the guard zones, the kernels' argument."""
        return (self.offset + self.span) * np.dtype(self.dtype).itemsize

    def elements(self, buffer: Array) -> Array:
        """Return the tensor's elements in a buffer, as a view with one axis per index."""
        step = buffer.itemsize
        return np.lib.stride_tricks.as_strided(
            buffer[self.guard + self.offset :],
            shape=self.extents,
            strides=tuple(stride * step for stride in self.strides),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Operands:
    """The guarded buffers of A, B, the C before the product, and a bias."""

    a: Array
    b: Array
    c: Array
    bias: Array | None = None


def operands(problem: Problem, seed: int) -> Operands:
    """Draw A, B and a bias, and C if beta is not 0, uniformly from [-1, 1].

    They are the same for the same seed.
    """
    return Operands(**{tensor: operand(problem, seed, tensor) for tensor in problem.tensors})


def operand(problem: Problem, seed: int, tensor: str) -> Array:
    """Draw one tensor, with its guards."""
    layout = Layout.of(problem, tensor)
    buffer = np.empty(layout.length, layout.dtype)
    elements = layout.elements(buffer)
    buffer.view(np.uint8).fill(PATTERN_BYTE if tensor == "c" else NAN_BYTE)
    if tensor == "c" and problem.beta == 0:
        elements.fill(_NAN[buffer.itemsize].view(buffer.dtype)[0])
    else:
        # Stored in memory order: the longest stride first.
        shape = elements.T.shape
        numbers = drawn(key_of(problem, seed, tensor), layout.dtype, math.prod(shape))
        elements.T[...] = numbers.reshape(shape)
    return buffer


def bias_of(problem: Problem, guarded: Array | None) -> Array:
    """Return the elements of a bias in its guards; empty without a bias."""
    if guarded is None:
        return np.empty(0, problem.contraction.precision.dtype)
    return Layout.of(problem, "bias").elements(guarded)


def untouched_outside(buffer: Array, layout: Layout) -> bool:
    """Whether the pattern around and between C's elements is whole; elements are overwritten."""
    bits = buffer.view(np.dtype(f"u{min(buffer.itemsize, 8)}"))
    pattern = np.frombuffer(bytes([PATTERN_BYTE]) * bits.itemsize, bits.dtype)[0]
    layout.elements(buffer).fill(np.frombuffer(bytes([PATTERN_BYTE]) * 16, buffer.dtype)[0])
    return bool((bits == pattern).all())
