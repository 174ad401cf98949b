"""The numbers that a kernel is checked on, and the guards around them.

A tensor lies in a larger buffer: a guard zone, the problem's offset, the elements with the gaps
of their strides, and a guard zone again. Around and between the elements of A and B stand NaNs,
which spoil every sum that reads them; around and between those of C stands a bit pattern, which
betrays every write. With beta = 0 the elements of C are NaN too, as C must not be read then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mltune.problem import Problem

Array = np.ndarray[Any, np.dtype[Any]]

GUARD_BYTES = 4096  # also the alignment of a tensor in its buffer, enough for every driver
PATTERN_BYTE = 0xA5


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the elements of a tensor lie in its guarded buffer, in elements of `dtype`."""

    dtype: str
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    span: int

    @classmethod
    def of(cls, problem: Problem, tensor: str) -> Layout:
        """Return the layout of tensor `a`, `b` or `c`."""
        return cls(
            problem.contraction.precision.dtype,
            problem.extents(tensor),
            getattr(problem, f"strides_{tensor}"),
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
    def tensor_bytes(self) -> int:
        """Bytes between the guard zones: what a kernel is given."""
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
    """The guarded buffers of A, B and the C before the product."""

    a: Array
    b: Array
    c: Array


def operands(problem: Problem, seed: int) -> Operands:
    """Draw A and B, and C if it counts, uniformly from [-1, 1]; the same for the same seed."""
    rng = np.random.default_rng([seed, *problem.sizes])
    drawn = {}
    for tensor in "abc":
        layout = Layout.of(problem, tensor)
        buffer = np.empty(layout.length, layout.dtype)
        if tensor == "c":
            buffer.view(np.uint8).fill(PATTERN_BYTE)
        else:
            buffer.fill(np.nan)
        elements = layout.elements(buffer)
        if tensor == "c" and problem.beta == 0:
            elements.fill(np.nan)
        else:
            # Drawn and stored in memory order: the longest stride first.
            elements.T[...] = _uniform(rng, elements.T.shape, buffer.dtype)
        drawn[tensor] = buffer
    return Operands(**drawn)


def untouched_outside(buffer: Array, layout: Layout) -> bool:
    """Whether the pattern around and between C's elements is whole; the elements are lost."""
    bits = buffer.view(np.dtype(f"u{min(buffer.itemsize, 8)}"))
    pattern = np.frombuffer(bytes([PATTERN_BYTE]) * bits.itemsize, bits.dtype)[0]
    layout.elements(buffer).fill(np.frombuffer(bytes([PATTERN_BYTE]) * 16, buffer.dtype)[0])
    return bool((bits == pattern).all())


def _uniform(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    wide = np.float64 if dtype in (np.float64, np.complex128) else np.float32
    drawn: Array = 2 * rng.random(shape, wide) - 1
    if dtype.kind == "c":
        drawn = drawn + 1j * (2 * rng.random(shape, wide) - 1)
    return drawn
